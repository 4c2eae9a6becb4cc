"""Group-by over a window: one row a group, and the newer value replaces the older one (sections 2.2.2 and 3.3).

Every arrival and every end may change a group's value, so ends are looked for eagerly: when 75 leaves, the largest is
73 at once. What is emitted is REPLACE: the view keeps an array by group; any other consumer gets the pair -old, +new.
State is the input (none where negatives tell of ends) and a value a group.

Departs from the thesis where a group becomes empty, of which it says nothing: the row is deleted, and an aggregate
without groups tells COUNT 0 and NULL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tidewheel.queries.literature.patterns.operators.folds import FOLDS, Folded
from tidewheel.queries.literature.patterns.operators.operator import Values, Working
from tidewheel.queries.literature.state.records import FOREVER, Record, Steps
from tidewheel.queries.literature.state.store import Store


@dataclass
class Group:
    number: int
    folds: list[Folded]
    rows: int = 0
    told: Record | None = None


class GroupBy(Working):
    """`ends` is None where negatives tell of ends; `replaces`: an array by group consumes; `is_one`: no groups."""

    def __init__(
        self,
        steps: Steps,
        ends: Store | None,
        by: Values,
        folds: Sequence[tuple[str, Values | None]],
        *,
        replaces: bool,
        is_one: bool,
    ) -> None:
        self._steps, self._ends, self._by, self._folds, self._replaces = steps, ends, by, folds, replaces
        self._is_one = is_one
        self._groups: dict[tuple[Any, ...], Group] = {}
        self._begun = 0

    def begin(self) -> list[Record]:
        """Without groups, there is a row from the beginning."""
        return self._told((), self._begin(()), 0) if self._is_one else []

    def add(self, side: int, record: Record, now: int) -> list[Record]:
        if self._ends is not None:
            self._ends.insert(record)
        return self._changed(record, 1, now)

    def remove(self, side: int, record: Record, now: int) -> list[Record]:
        if self._ends is not None:
            self._ends.discard(record)
        return self._changed(record, -1, now)

    def _changed(self, record: Record, by: int, now: int) -> list[Record]:
        self._steps.touched += 1
        key = self._by(record)
        group = self._groups.get(key) or self._begin(key)
        group.rows += by
        for fold, (_, column) in zip(group.folds, self._folds, strict=True):
            fold.change(column and column(record)[0], by)
        return self._told(key, group, now)

    def _begin(self, key: tuple[Any, ...]) -> Group:
        self._begun += 1
        self._groups[key] = Group(self._begun, [FOLDS[function]() for function, _ in self._folds])
        return self._groups[key]

    def _told(self, key: tuple[Any, ...], group: Group, now: int) -> list[Record]:
        old, new = group.told, None
        if group.rows or not key:
            values = key + tuple(fold.value for fold in group.folds)
            if old is not None and old.values == values:
                return []
            new = group.told = Record((-1, group.number), values, now, FOREVER)
        else:
            del self._groups[key]
        if self._replaces and new is not None:
            return [new]
        return [one for one in (old and old.negative(), new) if one is not None]

    def expire(self, now: int) -> list[Record]:
        ended = [] if self._ends is None else self._ends.expire(now)
        return [told for record in ended for told in self._changed(record, -1, now)]

    @property
    def size(self) -> int:
        return len(self._groups) + (0 if self._ends is None else len(self._ends))
