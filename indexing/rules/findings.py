"""Findings: what is wrong, in which way, and which batches would mend it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.core.state import FileFact

CellAt = tuple[int, int]


class Flaw(StrEnum):
    LOST = "lost"
    DOUBLED = "doubled"
    CHANGED = "changed"
    MISPLACED = "misplaced"
    OVERDUE = "overdue"
    MISSING_FILE = "missing_file"
    WRONG_SIZE = "wrong_size"
    UNREADABLE = "unreadable"
    FOREIGN = "foreign"
    STATISTICS = "statistics"
    OTHER_READERS = "other_readers"
    COUNT = "count"
    DAMAGED_LEDGER = "damaged_ledger"
    FORMAT = "format"


@dataclass(frozen=True)
class Finding:
    """One fault. `slots`, first to last, are those whose batches would mend it."""

    kind: Flaw
    message: str
    cell: CellAt | None = None
    path: str | None = None
    expected: int | str | None = None
    found: int | str | None = None
    slots: tuple[int, int] | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            **self.__dict__,
            "kind": self.kind.value,
            "cell": None if self.cell is None else list(self.cell),
            "slots": None if self.slots is None else list(self.slots),
        }


def hit_range(fact: FileFact) -> tuple[int, int]:
    """Return the insertion slots that must come again together if a file is beyond reading."""
    return (fact.ins_min, fact.ins_max)


def backfill_range(findings: Iterable[Finding]) -> tuple[int, int] | None:
    """Return the slots, first to last, whose batches mend everything that the source can mend.

    One range and one commit: a file beyond reading can only go when all slots it may hold come again together, and any
    file that is rewritten on the way must be readable.
    """
    ranges = [finding.slots for finding in findings if finding.slots is not None]
    if not ranges:
        return None
    return min(first for first, _ in ranges), max(last for _, last in ranges)


def backfill_options(axis: TimeAxis, slots: tuple[int, int]) -> list[str]:
    """Return the options of a backfill that brings them in one commit."""
    first, last = slots
    return ["--from", axis.name(first), "--to", axis.name(last + 1), "--each", str(last - first + 1)]
