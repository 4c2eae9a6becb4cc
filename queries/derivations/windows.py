"""Windows of a source: which of the living records a statement sees, and how long each lives through it.

A record is in a window from the end of its insertion slot.

    Living    all; ends with the record
    Within    at most so long from its time; ends with that. Without a time a record is left out; a time beyond the
              slot's end, and what is taken ahead, counts as that. `internal`: a record meets others so long,
              and only its own end ends what comes of that
    Newest    the newest so many, by (time, row hash), of each key; ends with the record, may leave earlier
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tidewheel.queries.derivations.records import Axis, Record

FOREVER = 1 << 62


@dataclass(frozen=True)
class Seen:
    """A record in a window: it meets others from `latest` to `meets_until`, and what comes of that ends at `until`."""

    place: int
    record: Record
    until: int
    latest: int = -FOREVER
    meets_until: int = FOREVER


class Window(ABC):
    # Whether what is seen changes in other ways than by ends that are known.
    is_strict = False

    @abstractmethod
    def seen(self, alive: Sequence[tuple[int, Record]], axis: Axis, at: int) -> list[Seen]: ...


@dataclass(frozen=True)
class Living(Window):
    def seen(self, alive: Sequence[tuple[int, Record]], axis: Axis, at: int) -> list[Seen]:
        return [Seen(axis.place(slot), record, record.until) for slot, record in alive]


@dataclass(frozen=True)
class Within(Window):
    length: int
    ahead: int = 0
    internal: bool = False

    def seen(self, alive: Sequence[tuple[int, Record]], axis: Axis, at: int) -> list[Seen]:
        timed = [
            (axis.place(slot), record, min(record.time, axis.end(slot) + self.ahead))
            for slot, record in alive
            if record.time is not None
        ]
        found = [(place, record, time, min(record.until, time + self.length)) for place, record, time in timed]
        if self.internal:
            return [Seen(place, record, record.until, time, end) for place, record, time, end in found]
        return [Seen(place, record, end) for place, record, _, end in found if end > at]


@dataclass(frozen=True)
class Newest(Window):
    rows: int
    per: tuple[int, ...] = ()

    is_strict = True

    def seen(self, alive: Sequence[tuple[int, Record]], axis: Axis, at: int) -> list[Seen]:
        groups: defaultdict[tuple[Any, ...], list[tuple[int, Record]]] = defaultdict(list)
        for slot, record in alive:
            groups[tuple(record.values[column] for column in self.per)].append((slot, record))
        newest = [one for group in groups.values() for one in sorted(group, key=_by_time)[-self.rows :]]
        return [Seen(axis.place(slot), record, record.until) for slot, record in newest]


def _by_time(one: tuple[int, Record]) -> tuple[bool, int, int]:
    _, record = one
    return record.time is not None, record.time or 0, record.row_hash
