"""Nodes, what they cost, and the interface of the optimizers that place trees on them.

Nodes are alike, and each tree on a node reads every record. The sum of all nodes' costs is what the work costs, the
largest is how long it takes when nodes work side by side.

Names say what is done: G only groups (a tree per request), W weaves all of a node into one tree, WG does both; and how
a node is chosen: at random, round robin, the lowest, as weaving ends (TN), by inserting (I).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.planning.cost_model import Cost
from tidewheel.queries.planning.loom import Loom, Tree, in_order
from tidewheel.queries.planning.plan import Draw


class Objective(Enum):
    """The cost that chooses a node: its own afterwards, the increase of the total, or one to choose, one to decide."""

    NODE = "balance"
    INCREASE = "total"
    MIXED = "mixed"


@dataclass(frozen=True)
class Setting:
    """How the literature's descriptions are read, where they leave it open."""

    nodes: int
    draw: Draw
    objective: Objective = Objective.NODE
    stop_at_nodes: bool = False  # weaving ends as soon as there are no more trees than nodes, though it would gain
    alike_first: bool = False  # requests with equal edges are woven before all else
    shuffled: bool = True  # requests are inserted in random order

    def __post_init__(self) -> None:
        if self.nodes < 1:
            raise InvalidInput(f"{self.nodes} nodes", "placing trees needs at least one node")


@dataclass
class Node:
    trees: list[Tree] = field(default_factory=list)

    @property
    def cost(self) -> Cost:
        return sum(tree.cost for tree in self.trees)

    def put(self, loom: Loom, tree: Tree, place: int | None) -> None:
        """Into the tree at a place; as a tree of its own for None."""
        if place is None:
            self.trees.append(tree)
        else:
            self.trees[place] = loom.weave(self.trees[place], tree)


@dataclass(frozen=True)
class Placement:
    optimizer: str
    nodes: tuple[tuple[tuple[str, ...], ...], ...]
    costs: tuple[Fraction | float, ...]

    @property
    def total(self) -> Fraction | float:
        return sum(self.costs, Fraction(0))

    @property
    def most(self) -> Fraction | float:
        return max(self.costs)


@dataclass(frozen=True)
class Optimizer:
    name: str
    about: str
    nodes: Callable[[Loom, Setting], list[Node]]

    def place(self, loom: Loom, setting: Setting) -> Placement:
        nodes = self.nodes(loom, setting)
        nodes += [Node() for _ in range(setting.nodes - len(nodes))]
        names = [one.name for one in loom.workload.requests]
        placed = tuple(
            tuple(tuple(names[position] for position in tree.members) for tree in node.trees) for node in nodes
        )
        return Placement(self.name, placed, tuple(loom.model.shown(node.cost) for node in nodes))


def beginning(loom: Loom, setting: Setting) -> list[Tree]:
    """The trees that are placed or woven, in the requests' order."""
    if not setting.alike_first:
        return list(loom.singles)
    found: dict[object, list[int]] = {}
    for single in loom.singles:
        found.setdefault(single.edges, []).extend(single.members)
    return in_order(loom.tree(members) for members in found.values())


def cheapest(nodes: list[Node]) -> Node:
    return min(nodes, key=lambda node: node.cost)
