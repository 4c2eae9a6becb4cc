"""One day of a calendar queue: unsorted, sorted by linear insertion, or a heap (sections 3.5.2 and 6.2).

An unsorted day takes a record in O(1) and is read whole at each expiry: right where expiry is lazy. A sorted day is
the thesis's for eager expiry; inserting visits half a day, which dominates large results. The heap is the repair:
2 log2 of the day's size for a record's way in and out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from heapq import heapify, heappop, heappush

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.state.records import Record, Steps


class Day(ABC):
    def __init__(self, steps: Steps) -> None:
        self.steps = steps

    @abstractmethod
    def insert(self, record: Record) -> None: ...

    @abstractmethod
    def expire(self, now: float) -> list[Record]:
        """Remove what has ended: a day may hold two years, so each record's own exp is tested."""

    @abstractmethod
    def discard(self, record: Record) -> bool: ...

    @abstractmethod
    def __iter__(self) -> Iterator[Record]: ...


class Unsorted(Day):
    def __init__(self, steps: Steps) -> None:
        super().__init__(steps)
        self._records: list[Record] = []

    def insert(self, record: Record) -> None:
        self.steps.touched += 1
        self._records.append(record)

    def expire(self, now: float) -> list[Record]:
        self.steps.touched += len(self._records)
        found = [record for record in self._records if record.exp <= now]
        if found:
            self._records = [record for record in self._records if record.exp > now]
        return found

    def discard(self, record: Record) -> bool:
        return _found_and_deleted(self._records, record, self.steps)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)


class Sorted(Day):
    """The front is the end of the list, so that what ends first is popped."""

    def __init__(self, steps: Steps) -> None:
        super().__init__(steps)
        self._records: list[Record] = []

    def insert(self, record: Record) -> None:
        at = 0
        while at < len(self._records) and self._records[at].exp > record.exp:
            at += 1
        self.steps.touched += at + 1
        self._records.insert(at, record)

    def expire(self, now: float) -> list[Record]:
        found = []
        while self._records and self._records[-1].exp <= now:
            self.steps.touched += 1
            found.append(self._records.pop())
        return found

    def discard(self, record: Record) -> bool:
        return _found_and_deleted(self._records, record, self.steps)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)


class Heap(Day):
    """A record's way in or out of a heap of n counts log2 n elements, at least one."""

    def __init__(self, steps: Steps) -> None:
        super().__init__(steps)
        self._heap: list[tuple[float, int, Record]] = []
        self._number = 0

    def insert(self, record: Record) -> None:
        self._number += 1
        heappush(self._heap, (record.exp, self._number, record))
        self.steps.touched += self._depth

    @property
    def _depth(self) -> int:
        return max(1, len(self._heap).bit_length())

    def expire(self, now: float) -> list[Record]:
        found = []
        while self._heap and self._heap[0][0] <= now:
            self.steps.touched += self._depth
            found.append(heappop(self._heap)[2])
        return found

    def discard(self, record: Record) -> bool:
        for at, (_, _, held) in enumerate(self._heap):
            self.steps.touched += 1
            if held.id == record.id:
                del self._heap[at]
                heapify(self._heap)
                return True
        return False

    def __iter__(self) -> Iterator[Record]:
        return (record for _, _, record in self._heap)


def _found_and_deleted(records: list[Record], record: Record, steps: Steps) -> bool:
    for at, held in enumerate(records):
        steps.touched += 1
        if held.id == record.id:
            del records[at]
            return True
    return False


DAYS: dict[str, type[Day]] = {"unsorted": Unsorted, "sorted": Sorted, "heap": Heap}


def day_type(order: str) -> type[Day]:
    if order not in DAYS:
        raise InvalidInput(f"a calendar queue with {order} days", f"days are {', '.join(DAYS)}")
    return DAYS[order]
