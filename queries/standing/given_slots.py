"""The slots that a query's answers were given for: which of others are not among them.

A query that does not report in every slot has a range for each slot in which it does, as long as its answers are kept:
what is asked is looked up, and ranges that it does not reach are not walked through.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidewheel.indexing.core.slots import has_slot, ranges_since

Ranges = tuple[tuple[int, int], ...]


class GivenSlots:
    """Sorted ranges of slots, asked in ascending order."""

    def __init__(self, ranges: Ranges) -> None:
        self._ranges = ranges

    def has(self, slot: int) -> bool:
        return has_slot(self._ranges, slot)

    def count(self, first: int, end: int) -> int:
        """How many of the slots [first, end) there are."""
        return sum(max(0, min(last + 1, end) - max(start, first)) for start, last in ranges_since(self._ranges, first))

    def gaps_and_from(self, young: int, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of the slots [first, last]: those that no range has, and all from the slot `young` on."""
        at = first
        for start, end in ranges_since(self._ranges, first):
            if at < min(start, young):
                yield at, min(start, young, last + 1) - 1
            at = max(at, end + 1)
            if at >= min(young, last + 1):
                break
        at = min(at, max(young, first))
        if at <= last:
            yield at, last
