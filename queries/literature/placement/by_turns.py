"""Placement without looking at costs: nodes at random or in turns; and on a node, trees likewise.

No listing is printed: whose turn it is within a node is ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial

from tidewheel.queries.literature.placement.placed_nodes import Node, Optimizer, Setting, beginning
from tidewheel.queries.planning.loom import Loom

Pick = Callable[[object, int], int]
"""One of so many, for somebody."""
Shape = Callable[[Node, Pick], int | None]


def separate(_: Node, __: Pick) -> int | None:
    return None


def one_tree(node: Node, _: Pick) -> int | None:
    return 0 if node.trees else None


def either(node: Node, pick: Pick) -> int | None:
    """A tree of its own, or one of the node's: the first of the choices is the new one."""
    choice = pick(id(node), len(node.trees) + 1) if node.trees else 0
    return choice - 1 if choice else None


def at_random(setting: Setting) -> Pick:
    return lambda _, size: setting.draw(size)


def in_turns(_: Setting) -> Pick:
    turns: Counter[object] = Counter()

    def pick(who: object, size: int) -> int:
        turns[who] += 1
        return (turns[who] - 1) % size

    return pick


def placed(shape: Shape, chooser: Callable[[Setting], Pick], loom: Loom, setting: Setting) -> list[Node]:
    nodes, pick = [Node() for _ in range(setting.nodes)], chooser(setting)
    for tree in beginning(loom, setting):
        node = nodes[pick("nodes", len(nodes))]
        node.put(loom, tree, shape(node, pick))
    return nodes


BY_TURNS = tuple(
    Optimizer(f"{letters}_{ending}", f"{about}, {words}", partial(placed, shape, chooser))
    for ending, words, chooser in (("RAND", "nodes at random", at_random), ("RR", "nodes in turns", in_turns))
    for letters, about, shape in (
        ("G", "a tree for each query", separate),
        ("W", "one tree a node", one_tree),
        ("WG", "new trees and old ones in turns", either),
    )
)
