"""Arrival-ordered list: what the direct approach keeps when it is blind to patterns (section 3.6.1).

Insert O(1); every expiry visits all B records, and so does the search for one that ends early.
"""

from __future__ import annotations

from collections.abc import Iterator

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
        self._records: list[Record] = []

    def insert(self, record: Record) -> None:
        self.steps.touched += 1
        self._records.append(record)

    def expire(self, now: float) -> list[Record]:
        self.steps.touched += len(self._records)
        found = [record for record in self._records if record.exp <= now]
        if found:
            self._records = [record for record in self._records if record.exp > now]
        return sorted(found, key=end_order)

    def discard(self, record: Record) -> None:
        for at, held in enumerate(self._records):
            self.steps.touched += 1
            if held.id == record.id:
                del self._records[at]
                return

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)
