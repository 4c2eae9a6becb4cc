"""Windows at work: materialised time windows, count and partitioned windows, predicate windows (2.1.2 and 3.2).

A time window gives its tuples their end, exp = ts + T, and needs no state where operators look for themselves. The
negative tuple approach stores it and sends a negative for each end. A count window's tuples have no exp: the N-th
later one ends them, so only a negative tuple can tell; a partitioned window is one of these a group. A predicate
window holds the newest tuple of each key while it fulfils a condition: the key's next tuple ends it. Each costs O(1) a
tuple.

Follows the definitions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidewheel.queries.literature.patterns.operators.operator import Values, Working
from tidewheel.queries.literature.state.records import Record, Steps
from tidewheel.queries.literature.state.ring import Ring
from tidewheel.queries.literature.state.store import Store


class Materialised(Working):
    """Stores what passes and sends a negative tuple for each record that ends."""

    def __init__(self, ends: Store) -> None:
        self._ends = ends

    def add(self, side: int, record: Record, now: int) -> list[Record]:
        self._ends.insert(record)
        return [record]

    def remove(self, side: int, record: Record, now: int) -> list[Record]:
        self._ends.discard(record)
        return [record]

    def expire(self, now: int) -> list[Record]:
        return [record.negative() for record in self._ends.expire(now)]

    @property
    def size(self) -> int:
        return len(self._ends)


class CountWindow(Working):
    """The newest `rows` records, for each value of `per`; without groups `per` gives ()."""

    def __init__(self, steps: Steps, rows: int, per: Values) -> None:
        self._steps, self._rows, self._per = steps, rows, per
        self._rings: dict[tuple[Any, ...], Ring[Record]] = {}

    def add(self, side: int, record: Record, now: int) -> list[Record]:
        self._steps.touched += 1
        old = self._rings.setdefault(self._per(record), Ring(self._rows)).put(record)
        return [record] if old is None else [old.negative(), record]

    def remove(self, side: int, record: Record, now: int) -> list[Record]:
        raise AssertionError("a window is over a stream, which takes nothing back")

    @property
    def size(self) -> int:
        return sum(map(len, self._rings.values()))


class PredicateWindow(Working):
    """
    >>> window = PredicateWindow(Steps(), lambda record: record.values[:1], lambda record: record.values[1] > 90)
    >>> for at, heat in enumerate((95, 97, 80), start=1):
    ...     print([(one.values[1], one.sign) for one in window.add(0, Record((0, at), ("a", heat), at), at)])
    [(95, 1)]
    [(95, -1), (97, 1)]
    [(97, -1)]
    """

    def __init__(self, steps: Steps, key: Values, holds: Callable[[Record], bool]) -> None:
        self._steps, self._key, self._holds = steps, key, holds
        self._newest: dict[tuple[Any, ...], Record] = {}

    def add(self, side: int, record: Record, now: int) -> list[Record]:
        self._steps.touched += 1
        key = self._key(record)
        old = self._newest.pop(key, None)
        found = [] if old is None else [old.negative()]
        if self._holds(record):
            self._newest[key] = record
            found.append(record)
        return found

    def remove(self, side: int, record: Record, now: int) -> list[Record]:
        raise AssertionError("a window is over a stream, which takes nothing back")

    @property
    def size(self) -> int:
        return len(self._newest)
