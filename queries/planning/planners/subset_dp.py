"""The exact optimum: the best plan of a set is its best tree that holds the first request, and the best of the rest.

No listing is printed: by sets instead of all partitions, ours.
"""

from __future__ import annotations

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.planning.cost_model import Cost
from tidewheel.queries.planning.loom import Loom, Tree
from tidewheel.queries.planning.plan import Draw, Planner

PARTS_MAX = 14


def optimum(loom: Loom, _: Draw) -> list[Tree]:
    return best_of(loom, loom.alike())


def best_of(loom: Loom, parts: list[Tree]) -> list[Tree]:
    """The cheapest way to put parts together; requests of one part stay together."""
    if len(parts) > PARTS_MAX:
        raise InvalidInput(
            f"{len(parts)} queries with different edges are too many for the exact optimum (at most {PARTS_MAX})",
            "use Settle, which is within a percent of it",
        )
    trees = _trees_of_subsets(loom, parts)
    best: list[Cost] = [0] * len(trees)
    first_tree = [0] * len(trees)
    for subset in range(1, len(trees)):
        first = subset & -subset
        rest = subset ^ first
        part = rest
        best[subset], first_tree[subset] = trees[subset].cost, subset
        while part:
            part = (part - 1) & rest
            cost = trees[part | first].cost + best[rest ^ part]
            if cost < best[subset]:
                best[subset], first_tree[subset] = cost, part | first
    return _read_off(trees, first_tree)


def _trees_of_subsets(loom: Loom, parts: list[Tree]) -> list[Tree]:
    trees = [parts[0]]  # the empty set's is never looked at
    for part in parts:
        trees += [part, *(loom.weave(tree, part) for tree in trees[1:])]
    return trees


def _read_off(trees: list[Tree], first_tree: list[int]) -> list[Tree]:
    found, subset = [], len(trees) - 1
    while subset:
        found.append(trees[first_tree[subset]])
        subset ^= first_tree[subset]
    return found


OPTIMUM = Planner("Optimum", "the cheapest of all plans, for few queries", optimum, requests_max=PARTS_MAX)
