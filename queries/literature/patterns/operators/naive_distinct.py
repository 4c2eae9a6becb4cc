"""Duplicate elimination that stores its input and its output (section 2.2.2): for any input.

A value that comes while it is in the output is no result. When a result ends, another live record of its value takes
over: the promotion reads the stored input from its youngest record on, as far as the first of the value. Space
|in| + |out|.

Departs from the thesis, which promotes the youngest: the largest exp is promoted, the same where lifetimes are equal.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from tidewheel.queries.literature.patterns.operators.operator import Edge, Values, Working, ends_told
from tidewheel.queries.literature.state.records import Record, Steps
from tidewheel.queries.literature.state.store import Store


class NaiveDistinct(Working):
    """`out` holds the results, `ends` the input. `in_order`: what comes later never ends earlier."""

    def __init__(self, steps: Steps, ends: Store, out: Store, values: Values, tells: Edge, *, in_order: bool) -> None:
        self._steps, self._in, self._out, self._values = steps, ends, out, values
        self.results = out
        self._tells, self._in_order = tells, in_order
        self._by_value: dict[tuple[Any, ...], Record] = {}
        self._input: dict[Hashable, Record] = {}  # by id, in order of arrival

    def add(self, side: int, record: Record, now: int) -> list[Record]:
        self._in.insert(record)
        self._input[record.id] = record
        value = self._values(record)
        return [] if value in self._by_value else [self._promoted(value, record, now)]

    def _promoted(self, value: tuple[Any, ...], record: Record, now: int) -> Record:
        found = record._replace(values=value, ts=now)
        self._by_value[value] = found
        self._out.insert(found)
        return found

    def remove(self, side: int, record: Record, now: int) -> list[Record]:
        self._in.discard(record)
        self._input.pop(record.id, None)
        value = self._values(record)
        result = self._by_value.get(value)
        if result is None or result.id != record.id:
            return []
        self._out.discard(result)
        del self._by_value[value]
        return [*ends_told(self._tells, [result], natural=record.exp <= now), *self._taken_over(value, now)]

    def _taken_over(self, value: tuple[Any, ...], now: int) -> list[Record]:
        best: Record | None = None
        for record in reversed(self._input.values()):
            self._steps.touched += 1
            if record.exp > now and self._values(record) == value and (best is None or record.exp > best.exp):
                best = record
                if self._in_order:
                    break
        return [] if best is None else [self._promoted(value, best, now)]

    def expire(self, now: int) -> list[Record]:
        for record in self._in.expire(now):
            self._input.pop(record.id, None)
        found: list[Record] = []
        for result in self._out.expire(now):
            del self._by_value[result.values]
            found += ends_told(self._tells, [result], natural=True) + self._taken_over(result.values, now)
        return found

    @property
    def size(self) -> int:
        return len(self._in) + len(self._out)
