"""Rules of derived archives, each broken on purpose: as another statement, or as a name that the world looks for.

The simulator must find each of them; one that stays hidden says that the histories do not meet what the rule is for.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields, replace
from typing import Any

from tidewheel.queries.derivations.form_rows import Row
from tidewheel.queries.derivations.forms import (
    AsOf,
    Distinct,
    ExceptAll,
    Exists,
    Form,
    Join,
    LeftJoin,
    Ranked,
)
from tidewheel.queries.derivations.records import Axis, Record
from tidewheel.queries.derivations.windows import FOREVER, Newest, Seen, Within


class _JoinOfLongest(Join):
    """R2: a row outlives a part of it."""

    def rows(self, seen: Any, at: int) -> list[Row]:
        ends = {part: row.until for side in self.inputs for row in side.rows(seen, at) for part in row.parts}
        return [replace(row, until=max(ends[part] for part in row.parts)) for row in super().rows(seen, at)]


class _DistinctOfFirst(Distinct):
    """R2: a value goes with its first duplicate."""

    def rows(self, seen: Any, at: int) -> list[Row]:
        rows = self.input.rows(seen, at)
        return [
            min((r for r in rows if r.values == values), key=lambda r: r.ranks) for values in {r.values for r in rows}
        ]


class _ExistsOfItself(Exists):
    """R2: a row outlives its longest match."""

    def rows(self, seen: Any, at: int) -> list[Row]:
        ends = {row.row_hash: row.until for row in self.left.rows(seen, at)}
        return [replace(row, until=ends[row.row_hash]) for row in super().rows(seen, at)]


class _ExceptOfLast(ExceptAll):
    """R2: the rows that end last are kept."""

    def rows(self, seen: Any, at: int) -> list[Row]:
        mirrored = super().rows(seen, at)
        rows = self.left.rows(seen, at)
        kept: list[Row] = []
        for values in {row.values for row in rows}:
            many = sum(row.values == values for row in mirrored)
            group = sorted((row for row in rows if row.values == values), key=lambda r: r.ranks, reverse=True)
            kept += group[:many]
        return kept


class _AsOfOfLeft(AsOf):
    """R7: a value that was looked up stays when its record ends."""

    def rows(self, seen: Any, at: int) -> list[Row]:
        ends = {row.parts: row.until for row in self.left.rows(seen, at)}
        return [replace(row, until=ends[row.parts[:-1]]) for row in super().rows(seen, at)]


class _LeftJoinOfLeft(LeftJoin):
    """R2: a row of a left join stays when what it shows of the right ends."""

    def rows(self, seen: Any, at: int) -> list[Row]:
        ends = {row.parts: row.until for row in self.left.rows(seen, at)}
        rows = super().rows(seen, at)
        return [
            replace(row, until=next((u for p, u in ends.items() if row.parts[: len(p)] == p), row.until))
            for row in rows
        ]


class _RankedByItself(Ranked):
    """R2: a number that is shown stays when a better row ends."""

    def rows(self, seen: Any, at: int) -> list[Row]:
        ends = {row.row_hash: row.until for row in self.input.rows(seen, at)}
        return [replace(row, until=ends[row.row_hash]) for row in super().rows(seen, at)]


class _WithinFromArrival(Within):
    """R6: a window runs from the slot, not from the record's time."""

    def seen(self, alive: Any, axis: Axis, at: int) -> list[Seen]:
        moved = [(slot, replace(record, time=axis.end(slot))) for slot, record in alive if record.time is not None]
        return super().seen(moved, axis, at)


class _WithinOfNull(Within):
    """R6: a record without a time is in the window."""

    def seen(self, alive: Any, axis: Axis, at: int) -> list[Seen]:
        return super().seen([(slot, _timed(record, axis.end(slot))) for slot, record in alive], axis, at)


class _WithinUnbounded(Within):
    """R6: a time far ahead keeps a record in its window."""

    def seen(self, alive: Any, axis: Axis, at: int) -> list[Seen]:
        return replace(Within(self.length, FOREVER // 2, self.internal)).seen(alive, axis, at)


class _NewestAfterEnd(Newest):
    """R6: the newest are kept, not refilled from what is alive."""

    def seen(self, alive: Any, axis: Axis, at: int) -> list[Seen]:
        return super().seen(alive, axis, at)[: max(0, self.rows - 1)]


def _timed(record: Record, time: int) -> Record:
    return record if record.time is not None else replace(record, time=time)


# By the bug's name: which form or window becomes which.
FORMS: dict[str, tuple[type[Any], type[Any]]] = {
    "R2 join": (Join, _JoinOfLongest),
    "R2 distinct": (Distinct, _DistinctOfFirst),
    "R2 exists": (Exists, _ExistsOfItself),
    "R2 except all": (ExceptAll, _ExceptOfLast),
    "R2 left join": (LeftJoin, _LeftJoinOfLeft),
    "R2 number": (Ranked, _RankedByItself),
    "R7": (AsOf, _AsOfOfLeft),
}
WINDOWS: dict[str, tuple[type[Any], type[Any]]] = {
    "R6 from arrival": (Within, _WithinFromArrival),
    "R6 null": (Within, _WithinOfNull),
    "R6 ahead": (Within, _WithinUnbounded),
    "R6 newest": (Newest, _NewestAfterEnd),
}
IN_THE_WORLD = (
    "R1 nothing leaves",
    "R3 no alignment",
    "R3 earliest end",
    "R4 slots of another interval",
    "R5 strict anywhere",
    "R8 back by parts",
    "R9 no tombstones",
    "R9 attempts alone",
    "R10 no cut",
    "R11 older after newer",
    "R12 slots replaced",
    "R12 consumers",
    "R14 slot of the update",
    "R16 short-lived",
    "R24 not twice",
)
BUGS = (*FORMS, *WINDOWS, *IN_THE_WORLD)


def planted(form: Form, bugs: Collection[str]) -> Form:
    """Return the statement with what the bugs exchange in it."""
    made: dict[str, Any] = {}
    for one in fields(form):  # type: ignore[arg-type]
        value = getattr(form, one.name)
        if isinstance(value, Form):
            value = planted(value, bugs)
        elif one.name == "window":
            value = _exchanged(value, WINDOWS, bugs)
        made[one.name] = value
    return _exchanged(type(form)(**made), FORMS, bugs)


def _exchanged(value: Any, table: dict[str, tuple[type[Any], type[Any]]], bugs: Collection[str]) -> Any:
    for bug, (right, wrong) in table.items():
        if bug in bugs and type(value) is right:
            return wrong(**{one.name: getattr(value, one.name) for one in fields(right)})
    return value
