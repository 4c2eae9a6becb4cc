"""The slots that a query's answers were given for: which of others are not among them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator


class GivenSlots:
    """Ranges of slots, asked in ascending order."""

    def __init__(self, ranges: Iterable[tuple[int, int]]) -> None:
        self._ranges = sorted(ranges)
        self._starts = [first for first, _ in self._ranges]

    def has(self, slot: int) -> bool:
        at = bisect_left(self._starts, slot + 1) - 1
        return at >= 0 and slot <= self._ranges[at][1]

    def count(self, first: int, end: int) -> int:
        """How many of the slots [first, end) there are."""
        return sum(max(0, min(last + 1, end) - max(start, first)) for start, last in self._ranges)

    def gaps_and_from(self, young: int, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Of the slots [first, last], ranges of those that no range has, and of all from a young one on."""
        at = first
        for start, end in self._ranges:
            if at < min(start, young):
                yield at, min(start, young, last + 1) - 1
            at = max(at, end + 1)
            if at >= min(young, last + 1):
                break
        at = min(at, max(young, first))
        if at <= last:
            yield at, last
