"""Aurora's resample: the second stream's value at each tuple of the first, as the mean of its neighbours (2.2.1).

Neighbours are the second stream's tuples at most `size` ticks away, before or after: so a tuple is answered when the
second stream's clock has passed that far. None is near: NULL. Cost: a look at what is held, for each tuple answered.

No listing is printed: neighbours by distance, and their plain mean, are ours.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from tidewheel.queries.literature.state.records import Record


class Resample:
    """
    >>> box = Resample(2, lambda record: record.values[0])
    >>> for ts, value in ((4, 10), (6, 20)):
    ...     answered = box.add_value(Record((1, ts), (value,), ts))
    >>> box.add(Record((0, 1), ("a",), 5)), [one.values for one in box.add_value(Record((1, 9), (90,), 9))]
    ([], [('a', 15.0)])
    """

    def __init__(self, size: int, value: Callable[[Record], Any]) -> None:
        self._size, self._value = size, value
        self._asked: deque[Record] = deque()
        self._near: deque[Record] = deque()
        self._clock = 0

    def add(self, record: Record) -> list[Record]:
        """Take a tuple of the first stream."""
        self._asked.append(record)
        return self._answered()

    def add_value(self, record: Record) -> list[Record]:
        """Take a tuple of the second stream; return the tuples whose neighbours are all there."""
        self._near.append(record)
        return self.heartbeat(record.ts)

    def heartbeat(self, ts: int) -> list[Record]:
        self._clock = max(self._clock, ts)
        return self._answered()

    def _answered(self) -> list[Record]:
        found = []
        while self._asked and self._asked[0].ts + self._size < self._clock:
            one = self._asked.popleft()
            while self._near and self._near[0].ts < one.ts - self._size:
                self._near.popleft()
            values = [self._value(near) for near in self._near if near.ts <= one.ts + self._size]
            mean = sum(values) / len(values) if values else None
            found.append(one._replace(values=(*one.values, mean)))
        return found
