"""Weave Share: again and again, weave the two trees that gain most; stop when none gain.

Gains are kept (Cost Lookup): of a pair whose trees did not change, the gain did not either. They wait in a heap; one
that is of an older tree is recognised by the trees' versions. Ties: the smallest first member, then the smallest
second. A gain of exactly nothing is never taken.

Guirguis, Sharaf, Chrysanthis, Labrinidis, *Optimized Processing of Multiple Aggregate Continuous Queries*, CIKM 2011.
Departs from the printed listing: the best gain is forgotten before each pass, and the bounds of its loops are mended.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from tidewheel.queries.planning.cost_model import Cost
from tidewheel.queries.planning.loom import Loom, Tree, in_order
from tidewheel.queries.planning.plan import Draw, Planner


def weave_share(loom: Loom, _: Draw) -> list[Tree]:
    return woven(loom, loom.alike())


def woven(loom: Loom, start: Sequence[Tree]) -> list[Tree]:
    """The greedy merging from any trees on."""
    trees, _ = woven_until(loom, start)
    return trees


def woven_until(
    loom: Loom, start: Sequence[Tree], trees_max: int | None = None, trees_min: int = 1
) -> tuple[list[Tree], int]:
    """The trees, and how many merges it took.

    With `trees_max` losses are taken too until so few are left; at `trees_min` no gain is taken any more.
    """
    weaving = _Weaving(loom, in_order(start), takes_losses=trees_max is not None)
    merges = 0
    while len(weaving.trees) > trees_min:
        pair = weaving.best(losses=trees_max is not None and len(weaving.trees) > trees_max)
        if pair is None:
            break
        weaving.merge(*pair)
        merges += 1
    return list(weaving.trees.values()), merges


class _Weaving:
    """Trees in places, and the heap of (minus gain, place, place, version of both together)."""

    def __init__(self, loom: Loom, start: list[Tree], takes_losses: bool) -> None:
        self._loom, self._takes_losses = loom, takes_losses
        self.trees = dict(enumerate(start))
        self._versions = [0] * len(start)
        pairs = ((first, second) for second in range(len(start)) for first in range(second))
        self._heap = [entry for pair in pairs if (entry := self._entry(*pair))]
        heapify(self._heap)

    def _entry(self, first: int, second: int) -> tuple[Cost, int, int, int] | None:
        gain = self._loom.gain(self.trees[first], self.trees[second])
        if not self._takes_losses and gain <= self._loom.model.least_gain:
            return None
        return -gain, first, second, self._versions[first] + self._versions[second]

    def best(self, losses: bool) -> tuple[int, int] | None:
        while self._heap:
            loss, first, second, version = self._heap[0]
            there = first in self.trees and second in self.trees
            if there and version == self._versions[first] + self._versions[second]:
                gains = -loss > self._loom.model.least_gain
                return (first, second) if gains or losses else None
            heappop(self._heap)
        return None

    def merge(self, first: int, second: int) -> None:
        self.trees[first] = self._loom.weave(self.trees[first], self.trees.pop(second))
        self._versions[first] += 1
        for place in self.trees:
            if place != first:
                entry = self._entry(min(place, first), max(place, first))
                if entry:
                    heappush(self._heap, entry)


WEAVE_SHARE = Planner("Weave Share", "weave the two trees that gain most, until none gain", weave_share)
