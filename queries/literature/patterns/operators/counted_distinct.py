"""Duplicate elimination by counters, as in STREAM (section 3.5.3): the class of its output is always STR.

A value is a result while its count is above 0, so a result ends at a moment that nobody knew when it began: a negative
tuple says so. Over negative tuples it needs the counters alone; over direct input it stores that to see it end. It
emits fewer positive results than δ*, and as many negative ones on top: better where few values are always there, or
the input is STR anyway. Time O(1).

Follows the description; the thesis runs it over negative tuples alone.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from tidewheel.queries.literature.patterns.operators.operator import Values, Working
from tidewheel.queries.literature.state.records import FOREVER, Record, Steps
from tidewheel.queries.literature.state.store import Store


class CountedDistinct(Working):
    """`ends` is None where a negative tuple tells of each end."""

    def __init__(self, steps: Steps, ends: Store | None, values: Values) -> None:
        self._steps, self._ends, self._values = steps, ends, values
        self._counts: Counter[tuple[Any, ...]] = Counter()
        self._results: dict[tuple[Any, ...], Record] = {}

    def add(self, side: int, record: Record, now: int) -> list[Record]:
        if self._ends is not None:
            self._ends.insert(record)
        self._steps.touched += 1
        value = self._values(record)
        self._counts[value] += 1
        if self._counts[value] > 1:
            return []
        self._results[value] = Record(record.id, value, now, FOREVER)
        return [self._results[value]]

    def remove(self, side: int, record: Record, now: int) -> list[Record]:
        if self._ends is not None:
            self._ends.discard(record)
        return self._counted_down(record)

    def _counted_down(self, record: Record) -> list[Record]:
        self._steps.touched += 1
        value = self._values(record)
        self._counts[value] -= 1
        if self._counts[value]:
            return []
        del self._counts[value]
        return [self._results.pop(value).negative()]

    def expire(self, now: int) -> list[Record]:
        ended = [] if self._ends is None else self._ends.expire(now)
        return [negative for record in ended for negative in self._counted_down(record)]

    @property
    def size(self) -> int:
        return len(self._counts) + (0 if self._ends is None else len(self._ends))
