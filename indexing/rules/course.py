"""The course of an archive: how many records were alive after its last commits, and how many of them will be.

Both are exact: the past follows from receipts, and each stored record carries its own expiry. Records that have not
come yet are in neither.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tidewheel.indexing.core.cells import Cell
from tidewheel.indexing.core.slots import TimeAxis, iso
from tidewheel.indexing.rules.changes import Change

SLOTS_AHEAD_MAX = 400


@dataclass(frozen=True)
class Course:
    """Records alive by the end of a watermark, in microseconds; the last of `past` is the first of `ahead`."""

    past: Mapping[int, int]
    ahead: Mapping[int, int]

    def to_json(self) -> dict[str, Any]:
        return {
            name: [{"at": iso(at_us), "rows_live": rows} for at_us, rows in points.items()]
            for name, points in (("past", self.past), ("ahead", self.ahead))
        }


def course_of(
    cells: Mapping[tuple[int, int], Cell], watermark: int | None, axis: TimeAxis, changes: Iterable[Change]
) -> Course:
    """Return the course. `changes` are the last ones, oldest first; at one watermark the newest counts."""
    if watermark is None:
        return Course({}, {})
    leaving: dict[int, int] = defaultdict(int)
    for (_, expiration), cell in cells.items():
        leaving[expiration] += cell.rows
    alive = sum(leaving.values())
    return Course(_past(alive, axis, list(changes)), _ahead(alive, watermark, axis, leaving))


def _past(alive: int, axis: TimeAxis, changes: list[Change]) -> dict[int, int]:
    """Yield the past, from the present back: a commit's records were not there before it, those it took were."""
    found: dict[int, int] = {}
    for change in reversed(changes):
        if change.watermark is not None:
            found.setdefault(axis.end_us(change.watermark), alive)
        alive += sum(one.cell.rows for one in change.left) - change.rows_came
    return dict(sorted(found.items()))


def _ahead(alive: int, watermark: int, axis: TimeAxis, leaving: Mapping[int, int]) -> dict[int, int]:
    """Yield the course ahead until the last record expires, or for so many slots."""
    found = {axis.end_us(watermark): alive}
    for slot in range(watermark + 1, min(max(leaving, default=watermark), watermark + SLOTS_AHEAD_MAX) + 1):
        alive -= leaving.get(slot, 0)
        found[axis.end_us(slot)] = alive
    return found
