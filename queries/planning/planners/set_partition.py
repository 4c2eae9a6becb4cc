"""Set Partition: of trees that anybody would consider, those that hold each request once and cost least.

As a whole-number program: a column for each tree, a row for each request. The solver is a library's and is handed in.
Few parts: all trees are considered, so the plan is the best one. Of more: the trees of all other planners, and what
lies between them: pairs of their trees woven, and each tree with one part left out.
No listing is printed: ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

from tidewheel.queries.planning.loom import Loom, Tree
from tidewheel.queries.planning.plan import Draw, Planner

ALL_TREES_MAX = 12
NAME = "Set Partition"
REQUESTS_MAX = 300

Solver = Callable[[Sequence[float], Sequence[Sequence[int]], int], list[int]]
"""Of columns' costs and members, and the number of rows: the columns of the cheapest partition."""


def set_partition(solve: Solver, others: Sequence[Planner]) -> Planner:
    def trees(loom: Loom, draw: Draw) -> list[Tree]:
        columns = _all_trees(loom) if len(loom.singles) <= ALL_TREES_MAX else _considered(loom, draw, others)
        costs = [float(column.cost) for column in columns]
        finite = [place for place, cost in enumerate(costs) if cost < float("inf")]
        members = [columns[place].members for place in finite]
        chosen = solve([costs[place] for place in finite], members, len(loom.singles))
        return [columns[finite[place]] for place in chosen]

    return Planner(NAME, "a whole-number program over trees, by a library", trees, requests_max=REQUESTS_MAX)


def _all_trees(loom: Loom) -> list[Tree]:
    found: list[Tree] = []
    for single in loom.singles:
        found += [single, *(loom.weave(tree, single) for tree in found)]
    return found


def _considered(loom: Loom, draw: Draw, others: Iterable[Planner]) -> list[Tree]:
    found = {tree.members: tree for tree in loom.singles}
    for planner in others:
        if planner.requests_max is not None and len(loom.singles) > planner.requests_max:
            continue
        trees = planner.trees(loom, draw)
        woven = [loom.weave(*pair) for pair in combinations(trees, 2)] if len(trees) <= ALL_TREES_MAX else []
        fewer = [one for tree in trees for one in _each_left_out(loom, tree)]
        found |= {tree.members: tree for tree in (*trees, *woven, *fewer)}
    return list(found.values())


def _each_left_out(loom: Loom, tree: Tree) -> list[Tree]:
    if not 2 <= len(tree.members) <= 2 * ALL_TREES_MAX:
        return []
    return loom.each_left_out([loom.singles[member] for member in tree.members])
