"""Inserted: one request after the other, into the tree where it costs least, or as a tree of the cheapest node.

The source gives three readings of "least": the node's cost afterwards, which balances nodes; the increase of the total;
or the first to choose the tree and the second to decide whether to use it.
Departs from the printed listing: the best offer is forgotten for each query, and the choice is made after the loops.
"""

from __future__ import annotations

from functools import partial

from tidewheel.queries.literature.placement.placed_nodes import Node, Objective, Optimizer, Setting, beginning, cheapest
from tidewheel.queries.planning.cost_model import Cost
from tidewheel.queries.planning.loom import Loom, Tree


def inserted(may_open: bool, loom: Loom, setting: Setting) -> list[Node]:
    arrivals = beginning(loom, setting)
    if setting.shuffled:
        arrivals = _shuffled(arrivals, setting)
    nodes = [Node([tree]) for tree in arrivals[: setting.nodes]]
    for tree in arrivals[setting.nodes :]:
        _insert(loom, setting.objective, nodes, tree, may_open)
    return nodes


def _insert(loom: Loom, objective: Objective, nodes: list[Node], tree: Tree, may_open: bool) -> None:
    offers = []
    for at, node in enumerate(nodes):
        before = node.cost
        for place, there in enumerate(node.trees):
            increase = loom.woven_cost(there, tree) - there.cost
            offers.append((increase if objective is Objective.INCREASE else before + increase, at, place, increase))
    price, at, place, increase = min(offers)
    lowest = cheapest(nodes)
    if may_open and _is_better_alone(objective, tree, lowest, price, increase):
        lowest.put(loom, tree, None)
    else:
        nodes[at].put(loom, tree, place)


def _is_better_alone(objective: Objective, tree: Tree, lowest: Node, price: Cost, increase: Cost) -> bool:
    if objective is Objective.NODE:
        return bool(lowest.cost + tree.cost < price)
    return bool(tree.cost < increase)


def _shuffled(trees: list[Tree], setting: Setting) -> list[Tree]:
    rest = list(trees)
    return [rest.pop(setting.draw(len(rest))) for _ in trees]


INSERTED = (
    Optimizer("W_I", "one tree a node, each query where it costs least", partial(inserted, False)),
    Optimizer("WG_I", "each query where it costs least, or a tree of its own", partial(inserted, True)),
)
