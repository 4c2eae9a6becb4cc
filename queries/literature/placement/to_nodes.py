"""To Nodes: weave first, as Weave Share does, then place what is left.

The text of the source ends weaving as soon as there are no more trees than nodes, its listing when nothing gains;
published totals follow only from the listing, so that is the default.
Departs from the printed listing: its loop over pairs visits each once; it ends as the listing does, not as the text.
"""

from __future__ import annotations

from tidewheel.queries.literature.placement.placed_nodes import Node, Optimizer, Setting, beginning
from tidewheel.queries.literature.placement.to_lowest import lowest, separate
from tidewheel.queries.planning.loom import Loom, Tree
from tidewheel.queries.planning.planners.weave_share import woven_until


def one_tree_each(loom: Loom, setting: Setting) -> list[Node]:
    """Woven on though it loses, until there is a node for each tree."""
    return [Node([tree]) for tree in _woven(loom, setting, trees_max=setting.nodes)]


def woven_and_grouped(loom: Loom, setting: Setting) -> list[Node]:
    return lowest(loom, _woven(loom, setting, trees_max=None), setting.nodes, separate)


def _woven(loom: Loom, setting: Setting, trees_max: int | None) -> list[Tree]:
    trees_min = setting.nodes if setting.stop_at_nodes else 1
    trees, _ = woven_until(loom, beginning(loom, setting), trees_max, trees_min)
    return trees


TO_NODES = (
    Optimizer("W_TN", "woven until each node has one tree", one_tree_each),
    Optimizer("WG_TN", "woven, then the dearest first to the lowest node", woven_and_grouped),
)
