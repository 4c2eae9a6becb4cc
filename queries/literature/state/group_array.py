"""Array by group: the answer of a group-by, where a group's newer row replaces its older one (section 3.5.2). O(1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tidewheel.queries.literature.state.records import Record, Steps


class GroupArray:
    """
    >>> held = GroupArray(Steps())
    >>> for at in (1, 2):
    ...     held.insert(Record((-1, 7), ("g", at), at))
    >>> [record.values for record in held]
    [('g', 2)]
    """

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self._rows: dict[tuple[Any, ...], Record] = {}

    def insert(self, record: Record) -> None:
        self.steps.touched += 1
        self._rows[record.id] = record

    def expire(self, now: float) -> list[Record]:
        return []

    def discard(self, record: Record) -> None:
        self.steps.touched += 1
        self._rows.pop(record.id, None)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._rows.values())

    def __len__(self) -> int:
        return len(self._rows)
