"""The state of one window: buckets of live tuples, each a FIFO queue, a calendar queue or a list.

Golab, Waterloo 2006, chapter 5: nested loops are one bucket, hashing is b of them (key mod b). A FIFO queue expires
a prefix, which is right only where all lifetimes are equal; a calendar queue expires days; a list is read whole.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any
from zlib import crc32

from tidewheel.queries.literature.joins.window_join import WindowJoin
from tidewheel.queries.literature.state.arrival_list import ArrivalList
from tidewheel.queries.literature.state.calendar_queue import CalendarQueue
from tidewheel.queries.literature.state.fifo import Fifo
from tidewheel.queries.literature.state.records import Record, Steps
from tidewheel.queries.literature.state.store import Store


class HeldWindow:
    """`steps` counts what the structures touch to insert and to expire."""

    def __init__(self, join: WindowJoin) -> None:
        self.steps = Steps()
        self._count = join.buckets
        self._make = _layout(join, self.steps)
        self._buckets: dict[Hashable, Store] = {}

    def _bucket_number(self, key: Hashable) -> Hashable:
        if self._count is None:
            return key
        number: int = key if isinstance(key, int) else crc32(repr(key).encode())
        return int(number % self._count)

    def bucket(self, key: Any) -> Store:
        """Return the bucket in which a key's tuples lie, among others."""
        number = self._bucket_number(key)
        if number not in self._buckets:
            self._buckets[number] = self._make()
        return self._buckets[number]

    def insert(self, record: Record) -> None:
        self.bucket(record.values[0]).insert(record)

    def expire(self, last_end: Any) -> list[Record]:
        """Remove and return what ends by then, of all buckets."""
        return [record for bucket in self._buckets.values() for record in bucket.expire(last_end)]

    def discard(self, record: Record) -> None:
        """Remove one tuple, whatever its end."""
        self.bucket(record.values[0]).discard(record)

    def __iter__(self) -> Iterator[Record]:
        return (record for bucket in self._buckets.values() for record in bucket)

    def __len__(self) -> int:
        return sum(map(len, self._buckets.values()))


def _layout(join: WindowJoin, steps: Steps) -> Callable[[], Store]:
    if join.state_layout == "calendar":
        year = join.year or max(int(window.length or 0) for window in join.windows)
        return lambda: CalendarQueue(steps, join.days, year)
    return (lambda: Fifo(steps)) if join.state_layout == "fifo" else (lambda: ArrivalList(steps))
