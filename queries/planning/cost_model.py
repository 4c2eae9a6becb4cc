"""The cost of a tree per unit of time: the interface of all cost models, and the model of the literature.

    cost of a plan = `once` + the sum over its trees of (per tree + edge rate × final operations per edge)

`published` is that with the rate of records per tree: each tree folds every record. With three levels (TriWeave)
records are folded once, into fragments by the edges of all queries, and each tree folds those: per tree their rate.

Whatever is rational is computed in whole numbers over one denominator: planners decide ties by it, and rounding would
decide them at random. `shown` gives the fraction back.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from fractions import Fraction
from typing import Any, Protocol

from tidewheel.queries.planning.workload import Workload

Cost = Any  # int, Fraction or float: one of them for all costs of a model
State = Any  # what a model remembers of a tree's members


class Levels(Enum):
    TWO = 2
    THREE = 3


class CostModel(Protocol):
    name: str
    once: Cost
    least_gain: Cost  # gains have to exceed it: 0 for exact costs, what rounding may pretend for floats
    alike_always_share: bool  # trees with equal edges always gain by sharing

    def start(self, position: int) -> State:
        """Return the state of the request at a position."""

    def join(self, one: State, other: State) -> State: ...

    def refuses(self, state: State) -> bool:
        """Tell whether a tree cannot be carried out, whatever it would cost."""

    def cost(self, count: int, state: State) -> Cost:
        """Return the cost of a tree with `count` edges per period."""

    def shown(self, cost: Cost) -> Fraction | float:
        """In operations (or whatever the model counts) per unit of time."""


ModelMaker = Callable[[Workload], CostModel]
FLOAT_GAIN_MIN = 1e-12
INFINITE = float("inf")  # the cost of a tree that cannot be carried out


class PanesModel:
    """Final operations per edge are the sum of range / slide: what all published plans are made by."""

    least_gain = 0

    def __init__(self, workload: Workload, levels: Levels = Levels.TWO) -> None:
        self.name = "published" if levels is Levels.TWO else "published, three levels"
        self._length = workload.space.length
        numerator, denominator = workload.rate.as_integer_ratio()
        self._unit = self._length * self._length * denominator
        self._omegas = [
            one.window.length * (self._length // one.window.slide) * denominator for one in workload.requests
        ]
        records = numerator * self._length * self._length
        self.once, self._per_tree = 0, records
        if levels is Levels.THREE:
            self.once, self._per_tree = records, composite_count(workload) * self._length * denominator
        self.alike_always_share = self._per_tree > 0

    def start(self, position: int) -> int:
        return self._omegas[position]

    def join(self, one: int, other: int) -> int:
        return one + other

    def refuses(self, _: int) -> bool:
        return False

    def cost(self, count: int, state: int) -> int:
        return self._per_tree + count * state

    def shown(self, cost: int) -> Fraction:
        return Fraction(cost, self._unit)


def composite_count(workload: Workload) -> int:
    """Edges per period of all requests together."""
    space = workload.space
    edges = space.edges(frozenset())
    for phases in workload.phases:
        edges = space.union(edges, space.edges(phases))
    return space.count(edges)


def three_levels(workload: Workload) -> CostModel:
    return PanesModel(workload, Levels.THREE)
