"""Simulate a query: Poisson arrivals with uniform values, drop boxes, and a plan that runs over them.

A factor of 1/d becomes a value from 1 to d on both sides of its pair, with d rounded. The same seed gives every plan
the same arrivals and every drop box the same draws. Linear in the arrivals, times what a plan does with each.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.optimiser.drops.drop_box import keeps
from tidewheel.queries.literature.optimiser.drops.plan_drops import ARRIVALS
from tidewheel.queries.literature.optimiser.execution import Arrival, Execution
from tidewheel.queries.literature.optimiser.plan_costs import annotated, operators
from tidewheel.queries.literature.optimiser.plan_tree import Tree
from tidewheel.queries.literature.optimiser.window_query import WindowQuery
from tidewheel.queries.statements.join_sizes import Number

LOOKS_MAX = 1e8
MISSED = 10**9  # added to one side's values, where nothing matches


@dataclass(frozen=True)
class Simulated:
    """The figures of one run."""

    seconds: float
    results: list[frozenset[str]]
    entered: dict[str, int]  # join → tuples that came in
    windows: dict[str, float]  # a join's input → its mean window

    @property
    def rate(self) -> float:
        return len(self.results) / self.seconds

    @property
    def entered_rate(self) -> float:
        return sum(self.entered.values()) / self.seconds


def poisson_arrivals(query: WindowQuery, seconds: float, seed: int) -> Iterator[Arrival]:
    """Give the arrivals of all streams in the order of their moments."""
    chance = random.Random(seed)
    streams = [one for one in query.streams if one.rate]
    rates = [float(one.rate) for one in streams]
    numbers = dict.fromkeys(query.names, 0)
    at = chance.expovariate(sum(rates)) if streams else seconds
    while at < seconds:
        [stream] = chance.choices(streams, rates)
        numbers[stream.name] += 1
        yield _drawn(query, stream.name, numbers[stream.name], at, chance)
        at += chance.expovariate(sum(rates))


def table_rows(query: WindowQuery, seed: int) -> Iterator[Arrival]:
    """Give the rows of all tables, which are there before any arrival."""
    chance = random.Random(seed)
    for table in query.streams:
        if table.is_table:
            for number in range(1, round(table.window) + 1):
                yield _drawn(query, table.name, number, 0.0, chance)


def _drawn(query: WindowQuery, stream: str, number: int, at: float, chance: random.Random) -> Arrival:
    pairs = {pair: factor for pair, factor in query.factors.items() if stream in pair}
    values = {pair: chance.randint(1, max(1, round(1 / float(factor)))) for pair, factor in pairs.items() if factor}
    values |= {pair: number + MISSED * (stream == min(pair)) for pair, factor in pairs.items() if not factor}
    selections = [one for one in query.selections if one.stream == stream]
    return Arrival(
        stream, number, at, values, frozenset(one.name for one in selections if chance.random() < one.factor)
    )


def simulated(
    tree: Tree,
    query: WindowQuery,
    seconds: float,
    seed: int,
    keep: Mapping[str, Number] | None = None,
    window_of: str = ARRIVALS,
) -> Simulated:
    """Run a plan over generated arrivals behind drop boxes."""
    _check_size(tree, query, seconds)
    execution = Execution(tree, query, window_of)
    for row in table_rows(query, seed):
        execution.arrive(row)
    execution.entered.clear()
    shares = {name: float((keep or {}).get(name, 1)) for name in query.names}
    for arrival in poisson_arrivals(query, seconds, seed):
        is_kept = keeps(seed, arrival.stream, arrival.number, shares[arrival.stream])
        execution.arrive(arrival, is_kept=is_kept)
    windows = {text: execution.mean_window(text) for text in execution.windows}
    return Simulated(seconds, execution.results, dict(execution.entered), windows)


def _check_size(tree: Tree, query: WindowQuery, seconds: float) -> None:
    nodes = list(operators(annotated(tree, query)))
    held = sum(one.memory for one in nodes)
    arrivals = sum(one.rate for one in query.streams) * seconds
    looks = arrivals * held + seconds * sum(one.flow.rate for one in nodes)
    if looks > LOOKS_MAX:
        raise InvalidInput(
            f"simulating {seconds:g} units of time would look at {float(looks):.2g} rows",
            f"simulate less: up to {LOOKS_MAX:.0e} rows",
        )
