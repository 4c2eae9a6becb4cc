"""Local Search: the one move of one request that saves most, to another tree or to its own, until none saves.

Six of them: from No Share (NS) or a random partition (R), with 2, 5 or 10 times the passes that Weave Share takes.
No listing is printed: a tree of its own is a move as well, which the text leaves open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from tidewheel.queries.planning.cost_model import Cost
from tidewheel.queries.planning.loom import Loom, Tree, in_order
from tidewheel.queries.planning.plan import Draw, Planner
from tidewheel.queries.planning.planners.no_share import no_share
from tidewheel.queries.planning.planners.random_plans import random_partition
from tidewheel.queries.planning.planners.weave_share import woven_until

Start = Callable[[Loom, Draw], list[Tree]]
Move = tuple[Tree, int, int, Tree | None]  # the request, its place, its target, and what it leaves behind


def local_search(start: Start, times: int, loom: Loom, draw: Draw) -> list[Tree]:
    _, merges = woven_until(loom, loom.singles)
    trees = in_order(start(loom, draw))
    for _ in range(times * (merges + 1)):
        better = _after_best_move(loom, trees)
        if better is None:
            break
        trees = better
    return trees


def _after_best_move(loom: Loom, trees: list[Tree]) -> list[Tree] | None:
    best_gain, best = loom.model.least_gain, None
    for gain, move in _moves(loom, trees):
        if gain > best_gain:
            best_gain, best = gain, move
    return None if best is None else _moved(loom, trees, *best)


def _moves(loom: Loom, trees: list[Tree]) -> Iterator[tuple[Cost, Move]]:
    """Yield the gain of each move of one request, to every other tree and to a tree of its own."""
    for position, place in sorted((position, at) for at, tree in enumerate(trees) for position in tree.members):
        home, single = trees[place], loom.singles[position]
        rest = [member for member in home.members if member != position]
        left = loom.tree(rest) if rest else None
        freed = home.cost - (left.cost if left else 0)
        for target, tree in enumerate(trees):
            if target != place:
                yield freed + tree.cost - loom.woven_cost(tree, single), (single, place, target, left)
        if left:
            yield freed - single.cost, (single, place, len(trees), left)


def _moved(loom: Loom, trees: list[Tree], single: Tree, place: int, target: int, left: Tree | None) -> list[Tree]:
    after: list[Tree | None] = [*trees, None]
    there = after[target]
    after[target] = single if there is None else loom.weave(there, single)
    after[place] = left
    return in_order(tree for tree in after if tree is not None)


LOCAL_SEARCHES = tuple(
    Planner(
        f"LS-{letters}-{times}x",
        f"the best single move, from {words}, {times} times the passes of Weave Share",
        partial(local_search, start, times),
        requests_max=120,
    )
    for letters, words, start in (("NS", "No Share", no_share), ("R", "a random partition", random_partition))
    for times in (2, 5, 10)
)
