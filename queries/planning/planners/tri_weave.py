"""TriWeave: Weave Share over three levels. All trees are fed from fragments that are folded once, by all edges.

The planner is the same; what differs is the cost of a tree, of which the model with three levels tells. Asked under
any other model, its trees are those that are best for three levels.

Guirguis, Sharaf, Chrysanthis, Labrinidis, *Three-Level Processing of Multiple Aggregate Continuous Queries*, ICDE 2012.
No listing is printed: its cost is reconstructed from the description of the levels.
"""

from __future__ import annotations

from tidewheel.queries.planning.cost_model import three_levels
from tidewheel.queries.planning.loom import Loom, Tree
from tidewheel.queries.planning.plan import Draw, Planner
from tidewheel.queries.planning.planners.weave_share import weave_share


def tri_weave(loom: Loom, draw: Draw) -> list[Tree]:
    trees = weave_share(Loom(loom.workload, three_levels), draw)
    return [loom.tree(tree.members) for tree in trees]


TRI_WEAVE = Planner("TriWeave", "Weave Share, fed by fragments of all edges together", tri_weave)
