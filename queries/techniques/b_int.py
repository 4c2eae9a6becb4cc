"""B-Int, Base Intervals: dyadic intervals of the last N >= n partials, N a power of two, a ring per length.

1. An insert writes the newest interval of length 1, then every longer one that ends here: less than one operation on
   average.
2. A query walks from its oldest partial to the newest in the longest aligned intervals that fit: at most 2 log2 N.
2N values.
No listing is printed: built from the description.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import Any

from tidewheel.queries.operation import Operation
from tidewheel.queries.technique import Technique


class BInt(Technique):
    name = "B-Int"
    state_names = ("levels", "inserted")

    def __init__(self, operation: Operation, counts: Iterable[int], *, checked: bool = False) -> None:
        super().__init__(operation, counts, checked=checked)
        self.height = (self.size - 1).bit_length()
        self.levels = [self._empty(1 << (self.height - level)) for level in range(self.height + 1)]
        self.inserted = 0

    @property
    def reach(self) -> int:
        return 2 << self.height  # the longest interval may have ended almost its own length ago

    def insert(self, partial: Any) -> None:
        self._put(0, self.inserted, partial)
        self.inserted += 1
        level = 1
        while level <= self.height and self.inserted % (1 << level) == 0:
            position = (self.inserted - 1) >> level
            self._put(level, position, self._join(*(self._at(level - 1, 2 * position + half) for half in (0, 1))))
            level += 1

    def _query(self, count: int) -> Any:
        if not self.inserted:
            return self.operation.identity
        return self._fold(self._intervals(max(0, self.inserted - count), self.inserted))

    def _intervals(self, first: int, end: int) -> Iterator[Any]:
        while first < end:
            aligned = (first & -first).bit_length() - 1 if first else self.height
            level = min(aligned, (end - first).bit_length() - 1, self.height)
            yield self._at(level, first >> level)
            first += 1 << level

    def _at(self, level: int, position: int) -> Any:
        return self.levels[level][position % len(self.levels[level])]

    def _put(self, level: int, position: int, value: Any) -> None:
        self.levels[level][position % len(self.levels[level])] = value

    def state(self) -> dict[str, Any]:
        return deepcopy(super().state())
