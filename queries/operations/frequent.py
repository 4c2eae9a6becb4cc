"""Frequent items of a window, from short lists of its sub-windows (algorithm FREQUENT; Golab 2006, chapter 6).

Of each sub-window only the k most frequent items are kept, with their exact counts, and one number delta: no other item
of the sub-window is more frequent than that. A window adds up its lists. With g the sum of an item's counts, and miss
the sum of the deltas of those lists that lack it:

    g <= true count <= g + miss        and who is on no list at all is at most delta, the sum of all deltas

An item with g > delta is reported: it certainly is more frequent than delta. Some that are may be missing.

    bound    delta of a list                                    list shorter than k
    kth      the count of its k-th item, as published           0: every item is on it
    tight    the largest count of an item that is not on it     0: there is none

The published listing is wrong or silent in three places: it answers one sub-window late, it reads the k-th item of a
shorter list, and it does not say which of two items with equal counts is kept (here the smaller one).
Cost: k values a sub-window; a window's answer reads n lists.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from heapq import nsmallest
from typing import Any

from tidewheel.indexing.errors import InvalidInput


class Bound(StrEnum):
    KTH = "kth"
    TIGHT = "tight"


@dataclass(frozen=True)
class TopList:
    """The top of a sub-window. `counts` is in the order of `rank`; `total` is the sum of its counts, listed or not."""

    counts: tuple[tuple[Any, Any], ...]
    delta: Any
    total: Any


@dataclass(frozen=True)
class Frequent:
    """An item with the least and the greatest count that it can have."""

    item: Any
    low: Any
    high: Any


@dataclass(frozen=True)
class Bounds:
    """The bounds that the lists of a window give: one for each item on any list, the most frequent first."""

    items: tuple[Frequent, ...]
    delta: Any
    total: Any

    def reported(self) -> list[Frequent]:
        """Return the items that are certainly more frequent than delta."""
        return [found for found in self.items if found.low > self.delta]

    def above(self, threshold: Any) -> Above:
        """Sort the items by whether they exceed a threshold of the user's."""
        sure = [found for found in self.items if found.low > threshold]
        possible = [found for found in self.items if found.low <= threshold < found.high]
        return Above(tuple(sure), tuple(possible), is_complete=threshold >= self.delta)

    def certain_ranks(self, most: int) -> list[bool]:
        """Tell of each of the first `most` items whether no item behind it can be more frequent."""
        return [self._highest_behind(place) < found.low for place, found in enumerate(self.items[:most])]

    def _highest_behind(self, place: int) -> Any:
        return max([self.delta, *(found.high for found in self.items[place + 1 :])])


@dataclass(frozen=True)
class Above:
    """Items above a threshold. Where it is not complete, items that are on no list may exceed it as well."""

    sure: tuple[Frequent, ...]
    possible: tuple[Frequent, ...]
    is_complete: bool


def rank(counted: tuple[Any, Any]) -> tuple[Any, bool, Any]:
    """Order by count, the larger first; items of equal counts by themselves, NULL last."""
    item, count = counted
    return (-count, item is None, 0 if item is None else item)


def check(k: int, bound: Bound) -> None:
    if k < 1:
        raise InvalidInput(f"lists of {k} items", "keep at least one: k is a positive whole number")
    if k == 1 and bound is Bound.KTH:
        raise InvalidInput('k=1 with bound="kth" can never report an item', 'use k>=2 or bound="tight"')


def top_list(counts: Mapping[Any, Any], k: int, bound: Bound = Bound.KTH) -> TopList:
    """Keep of all items of a sub-window the k most frequent. Cost: one pass, with a heap of k."""
    held = [(item, count) for item, count in counts.items() if count > 0]
    first = tuple(nsmallest(k + 1, held, key=rank))
    return TopList(first[:k], _delta(first, k, bound), sum(count for _, count in held))


def _delta(first: Sequence[tuple[Any, Any]], k: int, bound: Bound) -> Any:
    """Return the count at the place that the bound reads: of k + 1 items, or of all there are."""
    place = k - 1 if bound is Bound.KTH else k
    return first[place][1] if len(first) > place else 0


def cut(longer: TopList, k: int, bound: Bound) -> TopList:
    """Return the list that a smaller k would have kept. A tight one needs an entry more than it keeps."""
    return TopList(longer.counts[:k], max(_delta(longer.counts, k, bound), _unknown(longer, k, bound)), longer.total)


def _unknown(longer: TopList, k: int, bound: Bound) -> Any:
    """Return what bounds the items behind the list where the list ends before the place that the bound reads."""
    ends_early = len(longer.counts) <= k and bound is Bound.TIGHT
    return longer.delta if ends_early else 0


def bounds_of(lists: Iterable[TopList]) -> Bounds:
    """Add up the lists of a window. Cost: their entries, once, and a sort of the items on them."""
    low: defaultdict[Any, Any] = defaultdict(int)
    covered: defaultdict[Any, Any] = defaultdict(int)
    delta = total = 0
    for kept in lists:
        delta += kept.delta
        total += kept.total
        for item, count in kept.counts:
            low[item] += count
            covered[item] += kept.delta
    ranked = sorted(low.items(), key=rank)
    items = tuple(Frequent(item, count, count + delta - covered[item]) for item, count in ranked)
    return Bounds(items, delta, total)
