"""The output of a plan at every capacity, where windows hold the survivors: concave, in straight pieces (ours).

The pieces end where the streams are kept whole, one after the other by benefit per cost. So a plan that is given the
share s of what it costs puts out at least the share s; and the cheapest plan, at a capacity K below its cost C, puts
out at least K/C of what the best plan would.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from tidewheel.queries.literature.optimiser.drops.path_costs import PathCosts
from tidewheel.queries.statements.join_sizes import Number


@dataclass(frozen=True)
class Corner:
    capacity: Number
    throughput: Number


def curve(costs: PathCosts) -> list[Corner]:
    """Return the corners of the curve, from nothing to all.

    >>> curve(PathCosts({"A": 100, "C": 700}, {"A": 60, "C": 70}))[1]
    Corner(capacity=70, throughput=700)
    """
    free: Number = sum(costs.benefit[name] for name in costs.cost if not costs.cost[name])
    corners = [Corner(0, free)]
    priced = [name for name in costs.cost if costs.cost[name]]
    for name in sorted(priced, key=lambda name: (-costs.benefit[name] / costs.cost[name], name)):
        last = corners[-1]
        corners.append(Corner(last.capacity + costs.cost[name], last.throughput + costs.benefit[name]))
    return corners


def throughput_at(corners: list[Corner], capacity: Number) -> Number:
    """Return the output at a capacity."""
    for low, high in itertools.pairwise(corners):
        if capacity <= high.capacity:
            slope = (high.throughput - low.throughput) / (high.capacity - low.capacity)
            return low.throughput + slope * (capacity - low.capacity)
    return corners[-1].throughput
