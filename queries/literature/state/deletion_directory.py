"""Deletion directory: a result that ends early is taken out in one step (ours).

The id tells the exp, hence the day, and the
record is taken out of it. With `tombstones`, for days that are heaps, the queue keeps its entry until its day comes; a
result that is revived just loses its tombstone, since its exp is that of the same parts. What never ends by itself is
not queued at all.

Departs from the thesis, which searches the whole calendar queue for each early end. O(1).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from tidewheel.queries.literature.state.calendar_queue import CalendarQueue
from tidewheel.queries.literature.state.records import FOREVER, Record


class DeletionDirectory:
    """
    >>> from tidewheel.queries.literature.state.records import Steps
    >>> held = DeletionDirectory(CalendarQueue(Steps(), days=5, year=50), tombstones=True)
    >>> one = Record((0, 1), (), 1, 20)
    >>> held.insert(one); held.discard(one); list(held)
    []
    >>> held.insert(one._replace(ts=5)); [record.ts for record in held]
    [5]
    >>> [record.ts for record in held.expire(20)]
    [5]
    """

    def __init__(self, queue: CalendarQueue, *, tombstones: bool) -> None:
        self._queue, self.steps, self._tombstones = queue, queue.steps, tombstones
        self._alive: dict[Hashable, Record] = {}
        self._queued: set[Hashable] = set()

    def insert(self, record: Record) -> None:
        self._alive[record.id] = record
        if record.exp == FOREVER or record.id in self._queued:
            self.steps.touched += 1
        else:
            self._queued.add(record.id)
            self._queue.insert(record)

    def discard(self, record: Record) -> None:
        self.steps.touched += 1
        held = self._alive.pop(record.id, None)
        if held is not None and held.id in self._queued and not self._tombstones:
            self._queued.discard(held.id)
            self._queue.take_out(held)

    def expire(self, now: int) -> list[Record]:
        found = []
        for entry in self._queue.expire(now):
            self._queued.discard(entry.id)
            record = self._alive.pop(entry.id, None)
            if record is not None:
                found.append(record)
        return found

    def __iter__(self) -> Iterator[Record]:
        return iter(self._alive.values())

    def __len__(self) -> int:
        return len(self._queued | self._alive.keys())
