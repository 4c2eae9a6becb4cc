"""Receipts: what a committed operation did, as plain values that ride in the commit itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

HASH_MODULUS = 1 << 64


class Operation(StrEnum):
    INIT = "init"
    UPDATE = "update"
    EXPIRE = "expire"
    FORGET = "forget"
    MIGRATE = "migrate"
    WIDEN = "widen"
    UNDO = "undo"
    FENCE = "fence"


@dataclass(frozen=True)
class Cell:
    """Rows of one (insertion slot, expiration slot), and the sum of their row hashes modulo 2**64."""

    rows: int
    hash: int

    def plus(self, other: Cell) -> Cell:
        return Cell(self.rows + other.rows, (self.hash + other.hash) % HASH_MODULUS)

    def minus(self, other: Cell) -> Cell:
        return Cell(self.rows - other.rows, (self.hash - other.hash) % HASH_MODULUS)


Cells = Mapping[int, Cell]  # by expiration slot


def cells_to_json(cells: Cells) -> dict[str, list[Any]]:
    """Hashes as hex text: they do not fit the integers of every JSON reader."""
    return {str(slot): [cell.rows, f"{cell.hash:016x}"] for slot, cell in sorted(cells.items())}


def cells_from_json(values: Mapping[str, Any]) -> dict[int, Cell]:
    return {int(slot): Cell(rows, int(digest, 16)) for slot, (rows, digest) in values.items()}


@dataclass(frozen=True)
class SlotReceipt:
    """One slot of a batch: rows_in = stored + short_lived + dead_on_arrival + forgotten + quarantined."""

    slot: int
    rows_in: int
    stored: int
    short_lived: int
    dead_on_arrival: int
    forgotten: int
    quarantined: int
    cells: Cells
    lineage: tuple[str, ...] = ()

    @property
    def balanced(self) -> bool:
        gone = self.short_lived + self.dead_on_arrival + self.forgotten + self.quarantined
        return self.rows_in == self.stored + gone and self.stored == sum(c.rows for c in self.cells.values())

    def to_json(self) -> dict[str, Any]:
        return {
            "slot": self.slot,
            "rows_in": self.rows_in,
            "stored": self.stored,
            "short_lived": self.short_lived,
            "dead_on_arrival": self.dead_on_arrival,
            "forgotten": self.forgotten,
            "quarantined": self.quarantined,
            "cells": cells_to_json(self.cells),
            "lineage": list(self.lineage),
        }

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> SlotReceipt:
        return SlotReceipt(**{**values, "cells": cells_from_json(values["cells"]), "lineage": tuple(values["lineage"])})


@dataclass(frozen=True)
class Tombstone:
    """Forget stays forgotten: rows inserted up to a slot whose `columns` hash to `digest` are filtered out.

    The digest is keyed with the archive's salt, so the value itself is never stored.
    """

    columns: tuple[str, ...]
    digest: str
    slot_max: int

    def matters_at(self, watermark: int, span: int) -> bool:
        """Whether a record it covers could still be alive."""
        return self.slot_max + span > watermark


@dataclass(frozen=True)
class SlotRecord:
    """What the ledger knows of a slot's latest batch: where it is stored and which cells are alive."""

    slot: int
    generation: int
    version: int
    attempt: str
    rows_in: int
    cells: Cells

    def to_json(self) -> dict[str, Any]:
        return {**self.__dict__, "cells": cells_to_json(self.cells)}

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> SlotRecord:
        return SlotRecord(**{**values, "cells": cells_from_json(values["cells"])})


@dataclass(frozen=True)
class Restoration:
    """What an undo puts back: the ledger as it was, as a difference to what it was just before."""

    version: int
    applied: tuple[tuple[int, int], ...]
    records: tuple[SlotRecord, ...]
    removed: tuple[int, ...]


@dataclass(frozen=True)
class Receipt:
    """What one committed operation did. Exactly one rides in each commit that advances the head."""

    operation: Operation
    attempt: str
    head: int
    watermark: int | None
    generation: int
    committed_us: int
    slots: tuple[SlotReceipt, ...] = ()
    forgotten: tuple[tuple[int, Cells], ...] = ()
    tombstones: tuple[Tombstone, ...] = ()
    restoration: Restoration | None = None
    relocated: bool = False
    capped_rows: int = 0
    files_added: int = 0
    bytes_added: int = 0
    files_removed: int = 0
    bytes_removed: int = 0
    files_dropped: int = 0
    bytes_dropped: int = 0
    rows_read: int = 0
    rows_rewritten: int = 0
    subindices_touched: tuple[tuple[int, int, int], ...] = ()
    timings_ms: Mapping[str, int] = field(default_factory=dict)
    program: str = ""
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        values = dict(self.__dict__)
        values["operation"] = self.operation.value
        values["slots"] = [one.to_json() for one in self.slots]
        values["forgotten"] = [[slot, cells_to_json(cells)] for slot, cells in self.forgotten]
        values["tombstones"] = [[list(t.columns), t.digest, t.slot_max] for t in self.tombstones]
        values["restoration"] = _restoration_to_json(self.restoration)
        values["subindices_touched"] = [list(one) for one in self.subindices_touched]
        values["timings_ms"] = dict(self.timings_ms)
        return values

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> Receipt:
        return Receipt(
            **{
                **values,
                "operation": Operation(values["operation"]),
                "slots": tuple(SlotReceipt.from_json(one) for one in values["slots"]),
                "forgotten": tuple((slot, cells_from_json(cells)) for slot, cells in values["forgotten"]),
                "tombstones": tuple(Tombstone(tuple(c), d, s) for c, d, s in values["tombstones"]),
                "restoration": _restoration_from_json(values["restoration"]),
                "subindices_touched": tuple((int(n), int(g), int(e)) for n, g, e in values["subindices_touched"]),
            }
        )


def _restoration_to_json(restoration: Restoration | None) -> dict[str, Any] | None:
    if restoration is None:
        return None
    return {
        "version": restoration.version,
        "applied": [list(one) for one in restoration.applied],
        "records": [one.to_json() for one in restoration.records],
        "removed": list(restoration.removed),
    }


def _restoration_from_json(values: Mapping[str, Any] | None) -> Restoration | None:
    if values is None:
        return None
    return Restoration(
        version=values["version"],
        applied=tuple((first, last) for first, last in values["applied"]),
        records=tuple(SlotRecord.from_json(one) for one in values["records"]),
        removed=tuple(values["removed"]),
    )
