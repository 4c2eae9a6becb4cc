"""To Lowest: the dearest trees first, each to the node that costs least so far.

Departs from the printed listing: the second loop goes over the remaining trees, where it begins at the first again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from tidewheel.queries.literature.placement.placed_nodes import Node, Optimizer, Setting, beginning, cheapest
from tidewheel.queries.planning.loom import Loom, Tree

Shape = Callable[[Loom, Node, Tree], int | None]


def separate(_: Loom, __: Node, ___: Tree) -> int | None:
    return None


def one_tree(_: Loom, __: Node, ___: Tree) -> int | None:
    return 0


def either(loom: Loom, node: Node, tree: Tree) -> int | None:
    """Into the node's cheapest tree, unless a tree of its own is cheaper."""
    place = min(range(len(node.trees)), key=lambda at: node.trees[at].cost)
    increase = loom.woven_cost(node.trees[place], tree) - node.trees[place].cost
    return None if tree.cost < increase else place


def lowest(loom: Loom, trees: Iterable[Tree], size: int, shape: Shape) -> list[Node]:
    dearest = sorted(trees, key=lambda tree: (-tree.cost, tree.members))
    nodes = [Node([tree]) for tree in dearest[:size]]
    for tree in dearest[size:]:
        node = cheapest(nodes)
        node.put(loom, tree, shape(loom, node, tree))
    return nodes


def placed(shape: Shape, loom: Loom, setting: Setting) -> list[Node]:
    return lowest(loom, beginning(loom, setting), setting.nodes, shape)


TO_LOWEST = tuple(
    Optimizer(f"{letters}_TL", f"{about}, the dearest first to the lowest node", partial(placed, shape))
    for letters, about, shape in (
        ("G", "a tree for each query", separate),
        ("W", "one tree a node", one_tree),
        ("WG", "into the node's cheapest tree or a new one", either),
    )
)
