"""Exact counts of a sliding window: what FREQUENT is compared with, in two ways that agree.

`ExactItems` keeps the whole table of counts of each sub-window (the basic interval synopsis with full counters).
`brute_force` counts the records of the window again.
Cost: a counter for each distinct item of each sub-window; all records of the window.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from typing import Any

from tidewheel.queries.operations.frequent import rank


class ExactItems:
    """A window of n sub-windows with full counters, and their sum."""

    def __init__(self, sub_windows: int) -> None:
        self.sub_windows = sub_windows
        self.counters: Counter[Any] = Counter()
        self._closed: deque[Counter[Any]] = deque()
        self._open: Counter[Any] = Counter()

    @property
    def stored_pairs(self) -> int:
        return sum(len(counts) for counts in self._closed)

    def add(self, item: Any, weight: int = 1) -> None:
        self._open[item] += weight

    def close(self) -> None:
        self._closed.append(self._open)
        self.counters += self._open
        self._open = Counter()
        if len(self._closed) > self.sub_windows:
            self.counters -= self._closed.popleft()

    def above(self, threshold: float) -> list[tuple[Any, int]]:
        return sorted(((item, count) for item, count in self.counters.items() if count > threshold), key=rank)


def brute_force(window: Iterable[Any], threshold: float) -> list[tuple[Any, int]]:
    return sorted(((item, count) for item, count in Counter(window).items() if count > threshold), key=rank)
