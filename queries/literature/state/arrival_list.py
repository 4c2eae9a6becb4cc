"""Arrival-ordered list: what the direct approach keeps when it is blind to patterns (section 3.6.1): one unsorted day.

Insert O(1); every expiry visits all B records, and so does the search for one that ends early.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidewheel.queries.literature.state.days import Unsorted
from tidewheel.queries.literature.state.records import Record, Steps, end_order


class ArrivalList:
    """
    >>> held = ArrivalList(Steps())
    >>> for at, exp in ((1, 20), (2, 9), (3, 12)):
    ...     held.insert(Record(("s", at), (), at, exp))
    >>> [record.exp for record in held.expire(12)], held.steps.touched
    ([9, 12], 6)
    """

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self._records = Unsorted(steps)
        self._many = 0

    def insert(self, record: Record) -> None:
        self._many += 1
        self._records.insert(record)

    def expire(self, now: float) -> list[Record]:
        found = self._records.expire(now)
        self._many -= len(found)
        return sorted(found, key=end_order)

    def discard(self, record: Record) -> None:
        self._many -= self._records.discard(record)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    def __len__(self) -> int:
        return self._many
