"""The symmetric join of two windows: insert, probe the other side, emit (sections 2.2.2 and 3.5.1).

A result ends with the first of its parts: exp = min, ts = max. What has ended and was not purged yet is passed by, so
purging may be lazy. A negative tuple takes its twin out and probes too: one negative for each result. A three-way
join is two of these; the loops over all windows at once are Algorithm 2 of chapter 5. Cost of an arrival: O(1 +
matches); at steady state there are λ1·T1·λ2·T2 / max(v1, v2) results.

Departs from the thesis, which never says what a result's ts is: that of its later part, when it is produced.
"""

from __future__ import annotations

from tidewheel.queries.literature.patterns.operators.operator import Edge, Values, Working
from tidewheel.queries.literature.state.keyed import Keyed
from tidewheel.queries.literature.state.records import Record, Steps
from tidewheel.queries.literature.state.store import Store


class Join(Working):
    def __init__(self, steps: Steps, ends: tuple[Store, Store], keys: tuple[Values, Values], reads: Edge) -> None:
        self._steps = steps
        self._keys = keys
        is_told = reads is Edge.NEGATIVE
        self._sides = tuple(Keyed(store, key, is_told=is_told) for store, key in zip(ends, keys, strict=True))

    def add(self, side: int, record: Record, now: int) -> list[Record]:
        self._sides[side].insert(record)
        return self._matches(side, record, now)

    def remove(self, side: int, record: Record, now: int) -> list[Record]:
        self._sides[side].discard(record)
        return [found.negative() for found in self._matches(side, record, now)]

    def _matches(self, side: int, record: Record, now: int) -> list[Record]:
        key = self._keys[side](record)
        if None in key:
            return []
        found = self._sides[1 - side].probe(key, now)
        self._steps.matches += len(found)
        if side == 0:
            return [joined(record, other) for other in found]
        return [joined(other, record) for other in found]

    def expire(self, now: int) -> list[Record]:
        for state in self._sides:
            state.expire(now)
        return []

    @property
    def size(self) -> int:
        return sum(len(state) for state in self._sides)


def joined(left: Record, right: Record) -> Record:
    """Return the result of two records: born with the later one, ended by the one that ends first.

    >>> joined(Record((0, 3), ("x",), 5, 11), Record((1, 1), ("x",), 3, 9))
    Record(id=(0, 3, 1, 1), values=('x', 'x'), ts=5, exp=9, sign=1)
    """
    return Record(left.id + right.id, left.values + right.values, max(left.ts, right.ts), min(left.exp, right.exp))
