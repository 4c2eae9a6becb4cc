"""Window joins: orders by the cost model, and comparisons counted with the parameters of the published experiment.

Published times are of Java; comparisons of the join attribute do not depend on a machine. Streams are those of
Table 5.5, for fewer units of time than published, with full windows.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from statistics import fmean

from benchmarks.literature.headline import Headline
from tidewheel.queries.literature.joins.family import MakeJoin, engine_named
from tidewheel.queries.literature.joins.generated_arrivals import generate, join_of, turns_per_unit
from tidewheel.queries.literature.joins.playing import play_by_run
from tidewheel.queries.literature.joins.tables import TABLES
from tidewheel.queries.statements.join_orders import ORDERINGS, Ordering, exhaustive_order
from tidewheel.queries.statements.join_sizes import JoinInput, lost_share

SEED, EVERY = 1, 10
AUGMENTED, INITIAL, BY_SIZE = "augmented", "initial", "size"
ORDERS = (
    ("Table 5.3", "16,000 / nearly 90,000 comparisons", BY_SIZE, ""),
    ("Table 5.5", "16,200 / more than 135,000; by the initial heuristic 42,600", INITIAL,
     "the table's printed rate of 100 gives ten times as much"),
    ("Table 5.6", "47,977 / 79,000; by the initial heuristic 49,542", INITIAL, ""),
)  # fmt: skip
RUNS = (
    ("eager(5)", "eager", "all much cheaper and closer together"),
    ("lazy(5)", "eager(5)", "lazy is cheaper"),
    ("lazyR(5)", "eager(5)", "a visible penalty for restore; still below eager"),
)


def window_joins() -> Iterator[Headline]:
    for table, published, rival, why in ORDERS:
        yield Headline(
            f"join order of {table}, augmented / worst", published, partial(_orders, table), why=why,
            subject=AUGMENTED, rival=rival,
        )  # fmt: skip
    for subject, rival, published in RUNS:
        yield Headline(
            f"{subject} / {rival}, windows of Table 5.5, every {EVERY} units", published,
            partial(_fewer, subject, rival), why="comparisons; times also hold the results, about 100 for each tuple",
            subject=subject, rival=rival, slow=True,
        )  # fmt: skip
    yield Headline(
        "results lost without restore, two windows of 60, a run every 10", "17 %", _lost,
        why="17 % live shorter than a run; half of them are still there at one", subject="lazy", rival="lazyR",
    )  # fmt: skip


def ordering_named(name: str) -> Ordering:
    return ORDERINGS[name]


def join_named(name: str) -> MakeJoin:
    """Return how an algorithm is made, of its name and buckets."""
    return engine_named(name)


def _orders(table: str) -> str:
    prices = [price for _, price in exhaustive_order(TABLES[table]).priced]
    found = ordering_named(AUGMENTED)(TABLES[table]).cost
    initial = ORDERINGS[INITIAL](TABLES[table]).cost
    return (
        f"{float(found):,.0f} / {float(max(prices)):,.0f} comparisons; by the initial heuristic {float(initial):,.0f}, "
        f"on average {fmean(map(float, prices)):,.0f}"
    )


@cache
def _comparisons(make: MakeJoin) -> int:
    inputs = TABLES["Table 5.5"]
    turns = turns_per_unit(inputs)
    units, warm = 200, 100 * turns
    engine = make(join_of(inputs, order=(1, 0, 2, 3)), EVERY * turns)
    before = 0
    runs = range(EVERY * turns, units * turns + 1, EVERY * turns)
    for now, _ in play_by_run(engine, generate(inputs, units, SEED), runs):
        before = engine.counts.comparisons if now <= warm else before
    return engine.counts.comparisons - before


def _fewer(subject: str, rival: str) -> str:
    return f"{_comparisons(join_named(subject)) / _comparisons(engine_named(rival)):.2f}x the comparisons"


def _lost() -> str:
    inputs = [JoinInput(1, 60, 10)] * 2
    turns = turns_per_unit(inputs)
    found = []
    for make in (join_named("lazy"), engine_named("eager")):
        engine = make(join_of(inputs), EVERY * turns)
        runs = range(EVERY * turns, 3000 * turns + 1, EVERY * turns)
        list(play_by_run(engine, generate(inputs, 3000, SEED), runs))
        found.append(engine.counts.results)
    return f"{1 - found[0] / found[1]:.1%}; by the exact formula {float(lost_share(inputs, EVERY)):.1%}"
