"""FIFO queue: for records of one constant lifetime, which end in the order in which they came (section 3.5.2).

Insert O(1), expire O(1 + expired). A record that ends before its turn is searched from the oldest on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.state.records import Record, Steps


class Fifo:
    """
    >>> queue = Fifo(Steps())
    >>> for at in (1, 3):
    ...     queue.insert(Record(("s", at), (), at, at + 10))
    >>> [record.ts for record in queue.expire(11)], len(queue)
    ([1], 1)
    """

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self._queue: deque[Record] = deque()

    def insert(self, record: Record) -> None:
        if self._queue and record.exp < self._queue[-1].exp:
            raise InvalidInput(
                f"a FIFO queue was given exp={record.exp} after exp={self._queue[-1].exp}",
                "it holds equal lifetimes only: use a calendar queue",
            )
        self.steps.touched += 1
        self._queue.append(record)

    def expire(self, now: float) -> list[Record]:
        found = []
        while self._queue and self._queue[0].exp <= now:
            self.steps.touched += 1
            found.append(self._queue.popleft())
        return found

    def discard(self, record: Record) -> None:
        for at, held in enumerate(self._queue):
            self.steps.touched += 1
            if held.id == record.id:
                del self._queue[at]
                return

    def __iter__(self) -> Iterator[Record]:
        return iter(self._queue)

    def __len__(self) -> int:
        return len(self._queue)
