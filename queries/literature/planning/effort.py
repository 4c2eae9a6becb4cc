"""The work of Weave Share itself, in probes for common edges, counted for each published way to implement it.

They find the same plan, so it is made once, and the probes of each way are counted along:

- naive: after each merge all pairs are tried again; every edge of one tree is compared with every query of the other.
- Cost Lookup: only pairs with the merged tree are tried again.
- Edges Bitmap: an edge is one probe, however many queries the other tree has.
- Smaller probes larger: the tree with fewer edges probes the other.
Departs from the printed listing: an edge that several queries have is probed once.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import lcm

from tidewheel.queries.planning.loom import Loom, Tree, in_order
from tidewheel.queries.planning.phases import period_of

NAIVE, LOOKUP, BITMAP, SMALLER = "naive", "Cost Lookup", "Edges Bitmap", "smaller probes larger"


def counted_weave(loom: Loom) -> tuple[list[Tree], dict[str, int]]:
    """The plan of Weave Share, and the probes of each way to find it."""
    probes: Counter[str] = Counter()
    trees = in_order(loom.singles)
    pairs = {pair: _tried(loom, *pair, probes) for pair in combinations(trees, 2)}
    while True:
        probes[NAIVE] += sum(naive for _, naive in pairs.values())
        best = max(pairs, key=lambda pair: (pairs[pair][0], [-place for place in _places(pair)]), default=None)
        if best is None or pairs[best][0] <= loom.model.least_gain:
            return trees, dict(probes)
        woven = loom.weave(*best)
        trees = in_order([*(tree for tree in trees if tree not in best), woven])
        pairs = {pair: found for pair, found in pairs.items() if not set(pair) & set(best)}
        for tree in trees:
            if tree is not woven:
                pair = (tree, woven) if tree.members < woven.members else (woven, tree)
                pairs[pair] = _tried(loom, *pair, probes)


def _places(pair: tuple[Tree, Tree]) -> tuple[int, int]:
    return pair[0].members[0], pair[1].members[0]


def _tried(loom: Loom, one: Tree, other: Tree, probes: Counter[str]) -> tuple[object, int]:
    """The gain of a pair, and the probes of the naive way; those of the others are counted."""
    period = lcm(_period(loom, one), _period(loom, other))
    edges, other_edges = (int(loom.rate(tree) * period) for tree in (one, other))
    naive = other_edges * _comparisons(loom, one)
    probes[LOOKUP] += naive
    probes[BITMAP] += other_edges
    probes[SMALLER] += min(edges, other_edges)
    return loom.gain(one, other), naive


def _period(loom: Loom, tree: Tree) -> int:
    return period_of(phase for position in tree.members for phase in loom.workload.phases[position])


def _comparisons(loom: Loom, tree: Tree) -> int:
    """An edge is compared with both phases of each query."""
    return 2 * len(tree.members)
