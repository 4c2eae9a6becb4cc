"""A loom weaves requests into trees and tells what they cost: all that a planner works with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from tidewheel.queries.planning.cost_model import INFINITE, Cost, ModelMaker, PanesModel, State
from tidewheel.queries.planning.edge_space import Edges
from tidewheel.queries.planning.workload import Workload


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """Requests that share partials, by position in the workload, ascending."""

    members: tuple[int, ...]
    edges: Edges
    state: State
    cost: Cost


class Loom:
    """Trees of one workload under one cost model. `evaluations` counts the costs that were asked for."""

    def __init__(self, workload: Workload, model: ModelMaker = PanesModel) -> None:
        self.workload = workload
        self.space = workload.space
        self.model = model(workload)
        self.evaluations = 0
        self.singles = tuple(self._single(position) for position in range(len(workload.requests)))

    def _single(self, position: int) -> Tree:
        edges, state = self.space.edges(self.workload.phases[position]), self.model.start(position)
        return Tree((position,), edges, state, self._cost(edges, state))

    def _cost(self, edges: Edges, state: State) -> Cost:
        return INFINITE if self.model.refuses(state) else self.model.cost(self.space.count(edges), state)

    def weave(self, one: Tree, other: Tree) -> Tree:
        edges, state = self.space.union(one.edges, other.edges), self.model.join(one.state, other.state)
        members = tuple(sorted(one.members + other.members))
        return Tree(members, edges, state, self._cost(edges, state))

    def woven_cost(self, one: Tree, other: Tree) -> Cost:
        self.evaluations += 1
        return self._cost(self.space.union(one.edges, other.edges), self.model.join(one.state, other.state))

    def gain(self, one: Tree, other: Tree) -> Cost:
        """Return the cost that weaving two trees saves."""
        return one.cost + other.cost - self.woven_cost(one, other)

    def tree(self, members: Iterable[int]) -> Tree:
        return self.whole([self.singles[position] for position in members])

    def whole(self, parts: Sequence[Tree]) -> Tree:
        """One tree of several."""
        if len(parts) == 1:
            return parts[0]
        edges, state = parts[0].edges, parts[0].state
        for part in parts[1:]:
            edges, state = self.space.union(edges, part.edges), self.model.join(state, part.state)
        members = tuple(sorted(position for part in parts for position in part.members))
        return Tree(members, edges, state, self._cost(edges, state))

    def each_left_out(self, parts: Sequence[Tree]) -> list[Tree]:
        """For each of at least two parts, one tree of all others: folded from both ends, so in two passes."""
        self.evaluations += 3 * len(parts)
        before = list(accumulate(parts[:-1], self.weave))
        after = list(accumulate(parts[:0:-1], self.weave))[::-1]
        between = [self.weave(low, high) for low, high in zip(before, after[1:], strict=False)]
        return [after[0], *between, before[-1]]

    def rate(self, tree: Tree) -> Fraction:
        """Edges per unit of time."""
        return Fraction(self.space.count(tree.edges), self.space.length)

    def cost_of(self, trees: Iterable[Tree]) -> Cost:
        costs = [tree.cost for tree in trees]
        return sum(costs) + self.model.once if costs else 0

    def alike(self) -> list[Tree]:
        """One tree for all requests with the same edges, where such always gain by sharing; else one for each."""
        if not self.model.alike_always_share:
            return list(self.singles)
        found: dict[Edges, list[int]] = {}
        for single in self.singles:
            found.setdefault(single.edges, []).extend(single.members)
        return [self.tree(members) for members in found.values()]


def in_order(trees: Iterable[Tree]) -> list[Tree]:
    return sorted(trees, key=lambda tree: tree.members)


def partition_of(trees: Sequence[Tree]) -> tuple[tuple[int, ...], ...]:
    return tuple(tree.members for tree in in_order(trees))
