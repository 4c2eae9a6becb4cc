"""A plan: which requests share a tree, what that costs, and how far from the best it can be at most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from tidewheel.queries.planning.loom import Loom, Tree, in_order

Draw = Callable[[int], int]
"""A whole number below the argument, at random: `random.Random(seed).randrange`."""


@dataclass(frozen=True)
class Sharing:
    planner: str
    trees: tuple[tuple[str, ...], ...]  # names of requests
    cost: Fraction | float
    evaluations: int


@dataclass(frozen=True)
class Planner:
    """`trees` makes a partition. Chance, where a planner needs it, is handed in."""

    name: str
    about: str
    trees: Callable[[Loom, Draw], list[Tree]]
    requests_max: int | None = None  # more than that take too long

    def plan(self, loom: Loom, draw: Draw) -> Sharing:
        before = loom.evaluations
        trees = in_order(self.trees(loom, draw)) if loom.singles else []
        names = [one.name for one in loom.workload.requests]
        return Sharing(
            self.name,
            tuple(tuple(names[position] for position in tree.members) for tree in trees),
            loom.model.shown(loom.cost_of(trees)),
            loom.evaluations - before,
        )
