"""Algorithm 6, FREQUENT: a queue of short lists, and a counter for each item that is on any of them.

Golab 2006, section 6.3. Departures from the printed listing: the first full window answers (the listing is silent for
one sub-window more), a list that is shorter than k has delta 0, an empty sub-window has an entry of its own, and
counters are deleted when no list holds their item (printed: when they are zero, which sums of fractions may miss).
Cost: a record O(1); closing a sub-window with d distinct items O(d log k); an answer reads all counters.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from typing import Any

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.operations.frequent import Bound, Bounds, Frequent, TopList, bounds_of, check, rank, top_list


class FrequentItems:
    """A window of n sub-windows over one stream."""

    def __init__(self, sub_windows: int, k: int, bound: Bound = Bound.KTH) -> None:
        check(k, bound)
        self.sub_windows, self.k, self.bound = sub_windows, k, bound
        self.lists: deque[TopList] = deque()
        self.counters: defaultdict[Any, Any] = defaultdict(int)
        self.delta: Any = 0
        self._on_lists: Counter[Any] = Counter()
        self._open: defaultdict[Any, Any] = defaultdict(int)

    @property
    def is_full(self) -> bool:
        return len(self.lists) == self.sub_windows

    @property
    def stored_pairs(self) -> int:
        return sum(len(kept.counts) for kept in self.lists)

    def add(self, item: Any, weight: Any = 1) -> None:
        if weight < 0:
            raise InvalidInput(
                f"negative weight {weight} for item {item!r}", "weights must be >= 0: take the amount, not the change"
            )
        self._open[item] += weight

    def close(self) -> None:
        """End the sub-window that is being filled; the oldest leaves a window that is full."""
        kept = top_list(self._open, self.k, self.bound)
        self._open.clear()
        self.lists.append(kept)
        self.delta += kept.delta
        for item, count in kept.counts:
            self.counters[item] += count
            self._on_lists[item] += 1
        if len(self.lists) > self.sub_windows:
            self._leave(self.lists.popleft())

    def _leave(self, oldest: TopList) -> None:
        self.delta -= oldest.delta
        for item, count in oldest.counts:
            self.counters[item] -= count
            self._on_lists[item] -= 1
            if not self._on_lists[item]:
                del self.counters[item], self._on_lists[item]

    def answer(self) -> list[tuple[Any, Any]]:
        """Return the items whose counter exceeds delta, with it, the most frequent first."""
        return sorted(((item, low) for item, low in self.counters.items() if low > self.delta), key=rank)

    def bounds(self, youngest: int | None = None) -> Bounds:
        """Return all bounds of the window, or of a shorter one that shares its lists."""
        return bounds_of(list(self.lists)[-youngest:] if youngest else self.lists)

    def reported(self) -> list[Frequent]:
        return self.bounds().reported()
