"""Simulate a query: Poisson arrivals with uniform values, drop boxes, and a plan that runs over them.

A factor of 1/d becomes a value from 1 to d on both sides of its pair. The same seed gives every plan the same arrivals
and every drop box the same draws. Linear in the arrivals, times what a plan does with each.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tidewheel.queries.literature.optimiser.drops.drop_box import keeps
from tidewheel.queries.literature.optimiser.drops.plan_drops import ARRIVALS
from tidewheel.queries.literature.optimiser.execution import Arrival, Execution
from tidewheel.queries.literature.optimiser.plan_tree import Tree
from tidewheel.queries.literature.optimiser.window_query import WindowQuery
from tidewheel.queries.statements.join_sizes import Number


@dataclass(frozen=True)
class Simulated:
    """What a run came to."""

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
    values = {pair: max(1, round(1 / float(factor))) for pair, factor in query.factors.items() if factor}
    numbers = dict.fromkeys(query.names, 0)
    at = chance.expovariate(sum(rates))
    while at < seconds:
        [stream] = chance.choices(streams, rates)
        numbers[stream.name] += 1
        yield Arrival(
            stream.name,
            numbers[stream.name],
            at,
            {pair: chance.randint(1, most) for pair, most in values.items() if stream.name in pair},
            frozenset(
                one.name for one in query.selections if one.stream == stream.name and chance.random() < one.factor
            ),
        )
        at += chance.expovariate(sum(rates))


def simulated(
    tree: Tree,
    query: WindowQuery,
    seconds: float,
    seed: int,
    keep: Mapping[str, Number] | None = None,
    window_of: str = ARRIVALS,
) -> Simulated:
    """Run a plan over generated arrivals behind drop boxes."""
    execution = Execution(tree, query, window_of)
    shares = {name: float((keep or {}).get(name, 1)) for name in query.names}
    for arrival in poisson_arrivals(query, seconds, seed):
        is_kept = keeps(seed, arrival.stream, arrival.number, shares[arrival.stream])
        execution.arrive(arrival, is_kept=is_kept)
    windows = {text: execution.mean_window(text) for text in execution.windows}
    return Simulated(seconds, execution.results, dict(execution.entered), windows)
