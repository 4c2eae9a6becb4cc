"""MAX or MIN over a window without what can never be it: dominated records are dropped (section 2.2.2).

A record is kept only if no other of its group has a value as good and an end as late. What is kept is a staircase by
end, and its first step is the value. Worst case still the whole window (values that fall); values in random order keep
about ln of it. NULL is worse than any value.

Departs from the thesis's "greater and younger": a later end is what counts where lifetimes differ.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Any

from tidewheel.queries.literature.patterns.operators.operator import Values, Working
from tidewheel.queries.literature.state.records import FOREVER, Record, Steps
from tidewheel.queries.literature.state.store import Store

IsBetter = Callable[[Any, Any], bool]


class PrunedExtreme(Working):
    """`is_better(a, b)` is a >= b for MAX, a <= b for MIN."""

    def __init__(
        self, steps: Steps, ends: Store, by: Values, value: Values, is_better: IsBetter, *, replaces: bool, is_one: bool
    ) -> None:
        self._steps, self._ends, self._by, self._value, self._is_better = steps, ends, by, value, is_better
        self._replaces, self._is_one = replaces, is_one
        self._stairs: dict[tuple[Any, ...], list[Record]] = {}  # by end; the first one has the best value
        self._told: dict[tuple[Any, ...], Record] = {}
        self._begun = 0

    def begin(self) -> list[Record]:
        return self._changes((), 0) if self._is_one else []

    def add(self, side: int, record: Record, now: int) -> list[Record]:
        key = self._by(record)
        stairs = self._stairs.setdefault(key, [])
        at = bisect_left(stairs, record.exp, key=lambda held: held.exp)
        self._steps.touched += 1
        if at < len(stairs) and self._dominates(stairs[at], record):
            return []
        after = at + (at < len(stairs) and stairs[at].exp == record.exp)
        first = at
        while first and self._dominates(record, stairs[first - 1]):
            first -= 1
        for dominated in stairs[first:after]:
            self._ends.discard(dominated)
        stairs[first:after] = [record]
        self._ends.insert(record)
        return self._changes(key, now)

    def _dominates(self, one: Record, other: Record) -> bool:
        """Return if the other's value can never be the extreme while this one is there."""
        (value,), (against,) = self._value(one), self._value(other)
        return against is None or (value is not None and self._is_better(value, against))

    def remove(self, side: int, record: Record, now: int) -> list[Record]:
        raise AssertionError("a pruned window was given a negative tuple")

    def expire(self, now: int) -> list[Record]:
        keys = []
        for record in self._ends.expire(now):
            keys.append(self._by(record))
            self._stairs[keys[-1]].remove(record)
        return [told for key in dict.fromkeys(keys) for told in self._changes(key, now)]

    def _changes(self, key: tuple[Any, ...], now: int) -> list[Record]:
        stairs, old = self._stairs.get(key), self._told.get(key)
        if not stairs and key:
            del self._stairs[key], self._told[key]
            return [] if old is None else [old.negative()]
        values = (*key, self._value(stairs[0])[0] if stairs else None)
        if old is not None and old.values == values:
            return []
        number = old.id if old else self._new_number()
        new = self._told[key] = Record(number, values, now, FOREVER)
        return [new] if self._replaces or old is None else [old.negative(), new]

    def _new_number(self) -> tuple[int, int]:
        self._begun += 1
        return (-1, self._begun)

    @property
    def size(self) -> int:
        return sum(map(len, self._stairs.values()))
