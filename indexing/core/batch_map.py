"""The batch map and the records of slots: which batch of each slot and part counts, and which of its cells are alive.

The ledger holds both, and an undo's receipt carries what changes in them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tidewheel.indexing.core.cells import Cells, cells_from_json, cells_to_json
from tidewheel.indexing.core.offsets import SlotOffsets

# A batch is that of a slot and a part. A user's archive has one part, without a name; a derived one has a part for each
# of the things it is derived by, so that one of them can be replaced without the others.
BatchKey = tuple[int, str]


@dataclass(frozen=True)
class SlotRecord:
    """The ledger's facts about a slot's latest batch: its generation, its version and the cells that are alive."""

    slot: int
    generation: int
    version: int
    attempt: str
    rows_in: int
    cells: Cells

    @cached_property
    def expiration_first(self) -> int | None:
        """Return when its first cell expires; found once, however many ledgers share the record."""
        return min(self.cells, default=None)

    def to_json(self) -> dict[str, Any]:
        return {
            "slot": self.slot,
            "generation": self.generation,
            "version": self.version,
            "attempt": self.attempt,
            "rows_in": self.rows_in,
            "cells": cells_to_json(self.cells),
        }

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> SlotRecord:
        # Field by field: a ledger has one for each slot that is alive.
        return SlotRecord(
            values["slot"],
            values["generation"],
            values["version"],
            values["attempt"],
            values["rows_in"],
            cells_from_json(values["cells"]),
        )


@dataclass(frozen=True)
class Batch:
    """The batch of a slot and part that counts, whether cells of it are alive or not.

    `erasure` is the head of the last forget that may have taken something from it, `revision` how often it was
    replaced. `cells` and `lineage` are kept for named parts only: those of a whole slot are in its record.
    """

    attempt: str
    rows_in: int
    erasure: int = 0
    revision: int = 0
    lineage: tuple[str, ...] = ()
    cells: Cells = field(default_factory=dict)
    offsets: SlotOffsets | None = None

    def to_json(self) -> list[Any]:
        offsets = [] if self.offsets is None else [self.offsets.to_json()]
        cells = [cells_to_json(self.cells)] if self.cells or offsets else []
        return [self.attempt, self.rows_in, self.erasure, self.revision, list(self.lineage), *cells, *offsets]

    @staticmethod
    def from_json(values: list[Any]) -> Batch:
        attempt, rows_in, erasure, revision, lineage, *rest = values
        cells = cells_from_json(rest[0] if rest else {})
        offsets = SlotOffsets.from_json(rest[1]) if len(rest) > 1 else None
        return Batch(attempt, rows_in, erasure, revision, tuple(lineage), cells, offsets)


Batches = Mapping[BatchKey, Batch]
AppliedParts = Mapping[str, tuple[tuple[int, int], ...]]  # ranges of slots, by part


def batches_to_json(batches: Batches) -> list[Any]:
    return [[slot, part, *batch.to_json()] for (slot, part), batch in sorted(batches.items())]


def batches_from_json(values: list[Any]) -> dict[BatchKey, Batch]:
    return {(slot, part): Batch.from_json(rest) for slot, part, *rest in values}


def applied_parts_to_json(applied: AppliedParts) -> dict[str, Any]:
    return {part: [list(one) for one in ranges] for part, ranges in applied.items()}


def applied_parts_from_json(values: Mapping[str, Any]) -> AppliedParts:
    return {part: tuple((first, last) for first, last in ranges) for part, ranges in values.items()}
