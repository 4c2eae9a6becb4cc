"""Insert-then-Weave: each request joins the tree where it gains most, or opens one; then the trees are woven.

No listing is printed: a request that gains nowhere opens a tree, which the text implies.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidewheel.queries.planning.loom import Loom, Tree
from tidewheel.queries.planning.plan import Draw, Planner
from tidewheel.queries.planning.planners.weave_share import woven


def insert_then_weave(loom: Loom, _: Draw) -> list[Tree]:
    return woven(loom, inserted(loom, loom.singles))


def inserted(loom: Loom, arrivals: Iterable[Tree]) -> list[Tree]:
    trees: list[Tree] = []
    for tree in arrivals:
        best, best_gain = None, loom.model.least_gain
        for place, there in enumerate(trees):
            gain = loom.gain(there, tree)
            if gain > best_gain:
                best, best_gain = place, gain
        if best is None:
            trees.append(tree)
        else:
            trees[best] = loom.weave(trees[best], tree)
    return trees


INSERT_THEN_WEAVE = Planner("Insert-then-Weave", "each query to its best tree, then weave", insert_then_weave)
