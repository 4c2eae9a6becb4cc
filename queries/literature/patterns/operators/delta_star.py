"""δ*: duplicate elimination from its output and one waiting record a value (section 3.5.3; the thesis's own).

A result that ends is succeeded by the record that waits for it, so the input is never stored: space |out| + |aux|, at
most 2 |out|. It is the greedy cover of the value's life by intervals: no direct way emits fewer results. Time O(1) a
record, beside the calendar queue of the output.

Departs from the thesis, in which the *youngest* duplicate waits: the one with the *largest exp* does. Where lifetimes
differ the youngest loses the value: (exp 10), (exp 30), (exp 12) would promote the third at 10 and end at 12, though
the second lives to 30.
"""

from __future__ import annotations

from typing import Any

from tidewheel.queries.literature.patterns.operators.operator import Edge, Values, Working, ends_told
from tidewheel.queries.literature.state.records import Record, Steps
from tidewheel.queries.literature.state.store import Store


class DeltaStar(Working):
    """
    >>> from tidewheel.queries.literature.state.calendar_queue import CalendarQueue
    >>> steps = Steps()
    >>> operator = DeltaStar(steps, CalendarQueue(steps, 3, 30), lambda record: record.values, Edge.EXP)
    >>> for at, exp in ((1, 10), (2, 30), (3, 12)):
    ...     emitted = operator.add(0, Record((0, at), ("v",), at, exp), at)
    >>> [(result.id, result.ts, result.exp) for result in operator.expire(10)]
    [((0, 2), 10, 30)]
    """

    def __init__(self, steps: Steps, out: Store, values: Values, tells: Edge) -> None:
        self._steps, self._ends, self._values, self._tells = steps, out, values, tells
        self.results = out
        self._out: dict[tuple[Any, ...], Record] = {}
        self._aux: dict[tuple[Any, ...], Record] = {}

    def add(self, side: int, record: Record, now: int) -> list[Record]:
        value = self._values(record)
        result, waiting = self._out.get(value), self._aux.get(value)
        self._steps.touched += 1
        if result is None:
            return [self._promoted(value, record, now)]
        if record.exp > result.exp and (waiting is None or record.exp >= waiting.exp):
            self._steps.touched += 1
            self._aux[value] = record
        return []

    def _promoted(self, value: tuple[Any, ...], record: Record, at: int) -> Record:
        found = record._replace(values=value, ts=at)
        self._out[value] = found
        self._ends.insert(found)
        return found

    def remove(self, side: int, record: Record, now: int) -> list[Record]:
        raise AssertionError("δ* was given a negative tuple")

    def expire(self, now: int) -> list[Record]:
        found: list[Record] = []
        while ended := self._ends.expire(now):
            for result in ended:
                found += ends_told(self._tells, [result], natural=True) + self._succeeded(result)
        return found

    def _succeeded(self, result: Record) -> list[Record]:
        del self._out[result.values]
        waiting = self._aux.pop(result.values, None)
        if waiting is None or waiting.exp <= result.exp:
            return []
        return [self._promoted(result.values, waiting, int(result.exp))]

    @property
    def size(self) -> int:
        return len(self._out) + len(self._aux)
