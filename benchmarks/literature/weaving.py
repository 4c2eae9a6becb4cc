"""What Weave Share saves: by the rate of records, the number of queries, how much windows overlap, how slides are
drawn; and what its three speed-ups are worth.

Costs are the published ones, operations a second. Windows lie on whole seconds, so a second has one edge at the most,
however many queries share a tree; on a finer grid one tree for all costs more, and not sharing saves more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

from benchmarks.literature.headline import Headline
from benchmarks.literature.planning import draw
from benchmarks.literature.reference_workload import reference
from tidewheel.queries.literature.planning.effort import BITMAP, LOOKUP, NAIVE, SMALLER, counted_weave
from tidewheel.queries.planning.catalogue import planner_named
from tidewheel.queries.planning.loom import Loom

GRID = "edges of whole seconds; the templates of slides are not published"
WEAVE, ONE_TREE = "Weave Share", "Shared"
FAST_MAX = 250  # queries: more take seconds to weave
ORDERS = "three to four orders of magnitude below other plans at 1,000 queries; up to 40 times in a later summary"
OTHERS = ("Shared", "Insert-then-Weave", "Random partition", "Random", "No Share")
RATES = ((250, 50, "80 %"), (250, 2_000, "24 %"), (250, 3_000, "6 %"), (1_000, 10_000, "12 % (62 % elsewhere)"),
         (2_000, 10_000, "24 %"))  # fmt: skip
OVERLAPS = (50, 200, 500, 1_000, 2_000)
OVERLAPS_QUERIES, OVERLAPS_RATE = 2_000, 100_000
SKEWS = (0.0, 1.0, 2.0, 3.0, 4.0)
SKEWS_QUERIES, SKEWS_RATE, SKEWS_OVERLAP = (250, 1_000), 100, 10
EFFORT_QUERIES, EFFORT_RATE, EFFORT_SKEW, EFFORT_OVERLAP = 250, 100, 0.7, 10


def weaving() -> Iterator[Headline]:
    for size, rate in ((250, 50), (250, 300), (1_000, 50)):
        what = f"Weave Share, {size:,} queries, {rate} records a second"
        yield _row(what, ORDERS, size, partial(_below_others, size, rate))
    for size, rate, published in RATES:
        what = f"saved by Weave Share against Shared, {size:,} queries, {rate:,} records a second"
        yield _row(what, published, size, partial(_saved, size, rate))
    yield _row(
        f"the same by the greatest overlap, {OVERLAPS_QUERIES:,} queries, {OVERLAPS_RATE:,} records a second",
        "one tree below 200, 19 to 74 % above", OVERLAPS_QUERIES, _by_overlap,
    )  # fmt: skip
    for size in SKEWS_QUERIES:
        what = f"the same by the skew towards long slides, {size:,} queries"
        published = "rises to a maximum, larger for more queries, then one tree is as good"
        yield Headline(what, published, partial(_by_skew, size), why=GRID, subject=WEAVE, rival=ONE_TREE, slow=True)
    yield Headline(
        f"three speed-ups of Weave Share, {EFFORT_QUERIES} queries", "each about 10x, 1,000x in all", _speed_ups,
        why="probes for common edges are counted", subject=SMALLER, rival=BITMAP, slow=True,
    )  # fmt: skip


def _row(what: str, published: str, size: int, counted: Callable[[], str]) -> Headline:
    return Headline(what, published, counted, why=GRID, subject=WEAVE, rival=ONE_TREE, slow=size > FAST_MAX)


def _costs(loom: Loom, *names: str) -> dict[str, float]:
    return {name: float(planner_named(name).plan(loom, draw()).cost) for name in names}


def _below_others(size: int, rate: int) -> str:
    costs = _costs(Loom(reference(size, rate)), WEAVE, *OTHERS)
    return ", ".join(f"{costs[name] / costs[WEAVE]:.1f}x below {name}" for name in OTHERS)


def _saved(size: int, rate: int, **options: Any) -> str:
    loom = Loom(reference(size, rate, **options))
    plan = planner_named(WEAVE).plan(loom, draw())
    trees = "one tree" if len(plan.trees) == 1 else f"{len(plan.trees)} trees"
    return f"{1 - float(plan.cost) / _costs(loom, ONE_TREE)[ONE_TREE]:.0%}, {trees}"


def _by_overlap() -> str:
    each = (f"{most:,}: {_saved(OVERLAPS_QUERIES, OVERLAPS_RATE, overlap_max=most)}" for most in OVERLAPS)
    return "; ".join(each)


def _by_skew(size: int) -> str:
    each = (f"{skew:g}: {_saved(size, SKEWS_RATE, overlap_max=SKEWS_OVERLAP, skew=skew)}" for skew in SKEWS)
    return "; ".join(each)


def _speed_ups() -> str:
    workload = reference(EFFORT_QUERIES, EFFORT_RATE, overlap_max=EFFORT_OVERLAP, skew=EFFORT_SKEW)
    _, probes = counted_weave(Loom(workload))
    ways = (NAIVE, LOOKUP, BITMAP, SMALLER)
    steps = ", ".join(f"{after} {probes[before] / probes[after]:.0f}x" for before, after in pairwise(ways))
    return f"{steps}; {probes[NAIVE] / probes[SMALLER]:,.0f}x in all"
