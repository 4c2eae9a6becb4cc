"""Negation as NOT EXISTS: the left records whose key the right window does not hold (CQL text of Queries 3 and 4).

A right record that is the first of its key ends every result of the key early; the last one that leaves revives every
left record of the key that is still live. That makes the result STR, though most results end by their exp. Space
|W1| + |W2|; a right record may flip all results of its key.

Departs from the thesis's operator, a bag difference (`bag_difference.py`): its query texts say NOT EXISTS.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from tidewheel.queries.literature.patterns.operators.operator import Edge, Values, Working, ends_told
from tidewheel.queries.literature.state.keyed import Keyed
from tidewheel.queries.literature.state.records import Record, Steps
from tidewheel.queries.literature.state.store import Store


class AntiJoin(Working):
    """`edges`: how its inputs tell of ends, and how it does."""

    def __init__(
        self, steps: Steps, ends: tuple[Store, Store], keys: tuple[Values, Values], edges: tuple[Edge, Edge]
    ) -> None:
        reads, self._tells = edges
        self._steps = steps
        self._left_key, self._right_key = keys
        self._left, self._right = Keyed(ends[0], keys[0], is_told=reads is Edge.NEGATIVE), ends[1]
        self._counts: Counter[tuple[Any, ...]] = Counter()

    def add(self, side: int, record: Record, now: int) -> list[Record]:
        if side == 0:
            self._left.insert(record)
            self._steps.touched += 1
            return [] if self._counts[self._left_key(record)] else [record._replace(ts=now)]
        key = self._right_key(record)
        if None in key:
            return []
        self._right.insert(record)
        self._counts[key] += 1
        if self._counts[key] > 1:
            return []
        return ends_told(self._tells, self._matches(key, now), natural=False)

    def _matches(self, key: tuple[Any, ...], now: int) -> list[Record]:
        found = self._left.probe(key, now)
        self._steps.matches += len(found)
        return found

    def remove(self, side: int, record: Record, now: int) -> list[Record]:
        if side == 0:
            self._left.discard(record)
            return self._left_ended(record, natural=record.exp <= now)
        if None in self._right_key(record):
            return []
        self._right.discard(record)
        return self._right_ended(record, now)

    def _left_ended(self, record: Record, *, natural: bool) -> list[Record]:
        if self._counts[self._left_key(record)]:
            return []
        return ends_told(self._tells, [record], natural=natural)

    def _right_ended(self, record: Record, now: int) -> list[Record]:
        key = self._right_key(record)
        self._counts[key] -= 1
        if self._counts[key]:
            return []
        del self._counts[key]
        return [found._replace(ts=now) for found in self._matches(key, now)]

    def expire(self, now: int) -> list[Record]:
        found: list[Record] = []
        for record in self._left.expire(now):
            found += self._left_ended(record, natural=True)
        for record in self._right.expire(now):
            found += self._right_ended(record, now)
        return found

    @property
    def size(self) -> int:
        return len(self._left) + len(self._right)
