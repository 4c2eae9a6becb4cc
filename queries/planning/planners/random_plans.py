"""Random, in the two readings of the literature: pairs at random until one does not gain, or any partition.

No listing is printed: both readings are here.
"""

from __future__ import annotations

from tidewheel.queries.planning.loom import Loom, Tree, in_order
from tidewheel.queries.planning.plan import Draw, Planner


def random_merge(loom: Loom, draw: Draw) -> list[Tree]:
    trees = list(loom.singles)
    while len(trees) > 1:
        first, second = draw(len(trees)), draw(len(trees) - 1)
        second += second >= first
        if loom.gain(trees[first], trees[second]) <= loom.model.least_gain:
            break
        trees[first] = loom.weave(trees[first], trees[second])
        del trees[second]
    return trees


def random_partition(loom: Loom, draw: Draw) -> list[Tree]:
    size = 1 + draw(len(loom.singles))
    parts: dict[int, list[int]] = {}
    for position in range(len(loom.singles)):
        parts.setdefault(draw(size), []).append(position)
    return in_order(loom.tree(members) for members in parts.values())


RANDOM_MERGE = Planner("Random", "weave pairs at random until one does not gain", random_merge)
RANDOM_PARTITION = Planner("Random partition", "queries thrown into a random number of trees", random_partition)
