"""Settle, ours: several ways to begin, each improved by moves until nothing improves; the cheapest is taken.

Weaving pair by pair never takes back what it did, and misses trees that gain only when three come together. Here whole
parts (requests with the same edges, group-by and predicate) move between trees, trees merge, and trees fall apart into
those of one group-by or one predicate. Up to 12 requests all plans are compared, so the result is the best one.
No listing is printed: ours.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from tidewheel.queries.planning.cost_model import Cost
from tidewheel.queries.planning.loom import Loom, Tree, in_order
from tidewheel.queries.planning.plan import Draw, Planner
from tidewheel.queries.planning.planners.insert_then_weave import inserted
from tidewheel.queries.planning.planners.subset_dp import best_of
from tidewheel.queries.planning.planners.weave_share import woven

EXACT_MAX = 12
WOVEN_MAX = 200  # parts of which all pairs are tried
MOVES_MAX = 200_000  # costs asked for while improving one beginning
MANY = 400  # of more parts only the cheapest beginning is improved

Grove = list[list[Tree]]
"""Trees as lists of their parts."""


def settle(loom: Loom, _: Draw) -> list[Tree]:
    if len(loom.singles) <= EXACT_MAX:
        return best_of(loom, list(loom.singles))
    return min(searched(loom), key=loom.cost_of)


def searched(loom: Loom) -> list[list[Tree]]:
    """Return the plan that each starting plan settles to."""
    parts = _parts(loom)
    beginnings = _beginnings(loom, parts)
    if len(parts) > MANY:
        beginnings = [min(beginnings, key=lambda grove: _cost(loom, grove))]
    return [_settled(loom, grove) for grove in beginnings]


def _parts(loom: Loom) -> list[Tree]:
    """Requests that differ by range alone."""

    def kind(tree: Tree) -> Hashable:
        request = loom.workload.requests[tree.members[0]]
        return tree.edges, request.predicate, request.groups

    return [loom.tree(sorted(p for tree in alike for p in tree.members)) for alike in _by(kind, loom.singles)]


def _by(key: Callable[[Tree], Hashable], trees: Iterable[Tree]) -> list[list[Tree]]:
    found: dict[Hashable, list[Tree]] = {}
    for tree in trees:
        found.setdefault(key(tree), []).append(tree)
    return list(found.values())


def _beginnings(loom: Loom, parts: list[Tree]) -> list[Grove]:
    """All in one tree; trees by group-by, by group-by and predicate; trees as parts come, dearest first; woven."""
    requests = loom.workload.requests

    def groups(tree: Tree) -> Hashable:
        return requests[tree.members[0]].groups

    def signature(tree: Tree) -> Hashable:
        return groups(tree), requests[tree.members[0]].predicate

    groves = [[parts], _by(groups, parts), _by(signature, parts)]
    dearest = sorted(parts, key=lambda tree: (-tree.cost, tree.members))
    groves.append(_parts_of(parts, inserted(loom, dearest)))
    groves.append(_parts_of(parts, _woven_in_runs(loom, parts)))
    return [grove for grove in groves if _cost(loom, grove) < float("inf")]


def _woven_in_runs(loom: Loom, parts: list[Tree]) -> list[Tree]:
    """Woven, of many first those with like edges among themselves: not all pairs are tried."""
    requests = loom.workload.requests

    def slide_and_rest(tree: Tree) -> tuple[int, int]:
        window = requests[tree.members[0]].window
        return window.slide, window.length % window.slide

    trees, before = sorted(parts, key=slide_and_rest), len(parts) + 1
    while WOVEN_MAX < len(trees) < before:
        before = len(trees)
        trees = [tree for at in range(0, before, WOVEN_MAX) for tree in woven(loom, trees[at : at + WOVEN_MAX])]
    return woven(loom, trees) if len(trees) <= WOVEN_MAX else trees


def _parts_of(parts: list[Tree], trees: list[Tree]) -> Grove:
    home = {position: place for place, tree in enumerate(trees) for position in tree.members}
    grove: Grove = [[] for _ in trees]
    for part in parts:
        grove[home[part.members[0]]].append(part)
    return grove


def _cost(loom: Loom, grove: Grove) -> Cost:
    return loom.cost_of(loom.whole(parts) for parts in grove)


def _settled(loom: Loom, grove: Grove) -> list[Tree]:
    limit = loom.evaluations + MOVES_MAX
    cost = _cost(loom, grove)
    while True:
        grove = _merged(loom, _moved(loom, grove, limit))
        before, cost = cost, _cost(loom, grove)
        if before - cost <= loom.model.least_gain or loom.evaluations > limit:
            return in_order(loom.whole(parts) for parts in grove)


def _merged(loom: Loom, grove: Grove) -> Grove:
    return _parts_of([part for parts in grove for part in parts], woven(loom, [loom.whole(p) for p in grove]))


def _moved(loom: Loom, grove: Grove, limit: int) -> Grove:
    """Each part once to where it is cheapest: another tree, or one of its own."""
    homes = [list(parts) for parts in grove]
    trees = [loom.whole(parts) for parts in homes]
    for home, parts in enumerate(grove):
        waiting = list(parts)
        while len(homes[home]) > 1 and waiting and loom.evaluations <= limit:
            waiting = _move_one(loom, homes, trees, home, waiting)
    return [parts for parts in homes if parts]


def _move_one(loom: Loom, homes: Grove, trees: list[Tree], home: int, waiting: list[Tree]) -> list[Tree]:
    """Moves the first of the waiting parts that gains by it; those after it wait on."""
    left_out = dict(zip(homes[home], loom.each_left_out(homes[home]), strict=True))
    for place, part in enumerate(waiting):
        target = _target(loom, trees, home, part, left_out[part])
        if target is None:
            continue
        homes[home].remove(part)
        trees[home] = left_out[part]
        if target == len(trees):
            homes.append([part])
            trees.append(part)
        else:
            homes[target].append(part)
            trees[target] = loom.weave(trees[target], part)
        return waiting[place + 1 :]
    return []


def _target(loom: Loom, trees: list[Tree], home: int, part: Tree, left: Tree) -> int | None:
    freed = trees[home].cost - left.cost
    best, best_gain = None, loom.model.least_gain
    if freed - part.cost > best_gain:
        best, best_gain = len(trees), freed - part.cost
    for place, tree in enumerate(trees):
        if place != home:
            gain = freed + tree.cost - loom.woven_cost(tree, part)
            if gain > best_gain:
                best, best_gain = place, gain
    return best


SETTLE = Planner("Settle", "several beginnings, improved until nothing helps; exact up to 12 queries", settle)
