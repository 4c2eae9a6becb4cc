"""Receipts: the facts of a committed operation, as plain values that ride in the commit itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cache
from typing import Any

from tidewheel.indexing.core.batch_map import (
    AppliedParts,
    Batch,
    Batches,
    BatchKey,
    SlotRecord,
    applied_parts_from_json,
    applied_parts_to_json,
    batches_from_json,
    batches_to_json,
)
from tidewheel.indexing.core.cells import Cells, cells_from_json, cells_to_json
from tidewheel.indexing.core.offsets import SlotOffsets


class Deed(StrEnum):
    INIT = "init"
    UPDATE = "update"
    EXPIRE = "expire"
    FORGET = "forget"
    MIGRATE = "migrate"
    WIDEN = "widen"
    UNDO = "undo"
    FENCE = "fence"
    OBSERVE = "observe"


def known_fields(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that this program knows among those read back: a later program may have written more."""
    names = _field_names(kind)
    return {name: value for name, value in values.items() if name in names}


@cache
def _field_names(kind: type) -> frozenset[str]:
    return frozenset(one.name for one in fields(kind))


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
    part: str = ""
    beside: int = 0  # of the short-lived and those dead on arrival, how many are kept beside the archive
    offsets: SlotOffsets | None = None  # of a slot that a Kafka topic brought
    rules: Mapping[str, int] = field(default_factory=dict)  # of the quarantined, how many broke each rule

    @property
    def key(self) -> BatchKey:
        return (self.slot, self.part)

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
            **({"part": self.part} if self.part else {}),
            **({"beside": self.beside} if self.beside else {}),
            **({} if self.offsets is None else {"offsets": self.offsets.to_json()}),
            **({"rules": dict(self.rules)} if self.rules else {}),
        }

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> SlotReceipt:
        known = known_fields(SlotReceipt, values)
        known |= {"cells": cells_from_json(values["cells"]), "lineage": tuple(values["lineage"])}
        if "offsets" in known:
            known["offsets"] = SlotOffsets.from_json(known["offsets"])
        return SlotReceipt(**known)


@dataclass(frozen=True)
class Tombstone:
    """Forget stays forgotten: rows inserted up to a slot whose `columns` hash to `digest` are filtered out.

    The digest is keyed with the archive's salt, so the value itself is never stored.
    """

    columns: tuple[str, ...]
    digest: str
    slot_max: int

    def matters_at(self, watermark: int, span: int) -> bool:
        """Tell whether a record that it covers could still be alive."""
        return self.slot_max + span > watermark


@dataclass(frozen=True)
class Restoration:
    """The ledger that an undo restores, as a difference to the ledger just before."""

    version: int
    applied: tuple[tuple[int, int], ...]
    records: tuple[SlotRecord, ...]
    removed: tuple[int, ...]
    batches: Batches = field(default_factory=dict)
    batches_removed: tuple[BatchKey, ...] = ()
    applied_parts: AppliedParts = field(default_factory=dict)


@dataclass(frozen=True)
class Observation:
    """A consumer that derives from the archive: how many slots back it needs batches, and those known by then."""

    horizon: int
    batches: Batches = field(default_factory=dict)

    def to_json(self) -> list[Any]:
        return [self.horizon, batches_to_json(self.batches)]

    @staticmethod
    def from_json(values: list[Any]) -> Observation:
        return Observation(values[0], batches_from_json(values[1]))


@dataclass(frozen=True)
class Receipt:
    """The facts of one committed operation. Exactly one rides in each commit that advances the head."""

    operation: Deed
    attempt: str
    head: int
    watermark: int | None
    generation: int
    committed_us: int
    slots: tuple[SlotReceipt, ...] = ()
    forgotten: tuple[tuple[int, Cells], ...] = ()
    # Of a forget by predicate, the slots of the records that it found, stored or beside: their digests name no others.
    forgotten_in: tuple[int, ...] | None = None
    forgotten_parts: tuple[tuple[BatchKey, Cells], ...] = ()  # of derived archives, the same by part
    parts_dropped: tuple[str, ...] = ()  # as if they had never been
    # Of parts the slot before which nobody asks any more what they were applied for.
    parts_past: tuple[tuple[str, int], ...] = ()
    tombstones: tuple[Tombstone, ...] = ()
    restoration: Restoration | None = None
    observation: Observation | None = None
    relocated: bool = False
    capped_rows: int = 0
    late_rows: int = 0  # of a topic's records that were stored, how many came to be before their slot
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

    def may_have_forgotten(self, slot: int) -> bool:
        """Tell whether this is a forget that covers records of a slot."""
        bound = max((one.slot_max for one in self.tombstones), default=None)
        is_within = self.operation is Deed.FORGET and bound is not None and slot <= bound
        return is_within and (self.forgotten_in is None or slot in self.forgotten_in)

    def to_json(self) -> dict[str, Any]:
        optional = self._optional_json()
        values = {name: value for name, value in self.__dict__.items() if name not in optional}
        if not self.late_rows:
            del values["late_rows"]
        values["operation"] = self.operation.value
        values["slots"] = [one.to_json() for one in self.slots]
        values["forgotten"] = [[slot, cells_to_json(cells)] for slot, cells in self.forgotten]
        values["tombstones"] = [[list(t.columns), t.digest, t.slot_max] for t in self.tombstones]
        values["restoration"] = _restoration_to_json(self.restoration)
        values["subindices_touched"] = [list(one) for one in self.subindices_touched]
        values["timings_ms"] = dict(self.timings_ms)
        return values | {name: value for name, value in optional.items() if value is not None}

    def _optional_json(self) -> dict[str, Any]:
        """Return the fields that older programs do not know, and refuse: None for one that says nothing."""
        return {
            "observation": None if self.observation is None else self.observation.to_json(),
            "forgotten_in": None if self.forgotten_in is None else list(self.forgotten_in),
            "forgotten_parts": [[*key, cells_to_json(cells)] for key, cells in self.forgotten_parts] or None,
            "parts_dropped": list(self.parts_dropped) or None,
            "parts_past": [list(one) for one in self.parts_past] or None,
        }

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> Receipt:
        observation = values.get("observation")
        return Receipt(
            **{
                **known_fields(Receipt, values),
                "operation": Deed(values["operation"]),
                "slots": tuple(SlotReceipt.from_json(one) for one in values["slots"]),
                "forgotten": tuple((slot, cells_from_json(cells)) for slot, cells in values["forgotten"]),
                "forgotten_in": None if (found := values.get("forgotten_in")) is None else tuple(found),
                "forgotten_parts": tuple(
                    ((slot, part), cells_from_json(cells)) for slot, part, cells in values.get("forgotten_parts", ())
                ),
                "parts_dropped": tuple(values.get("parts_dropped", ())),
                "parts_past": tuple((part, slot) for part, slot in values.get("parts_past", ())),
                "tombstones": tuple(Tombstone(tuple(c), d, s) for c, d, s in values["tombstones"]),
                "restoration": _restoration_from_json(values["restoration"]),
                "observation": None if observation is None else Observation.from_json(observation),
                "subindices_touched": tuple((int(n), int(g), int(e)) for n, g, e in values["subindices_touched"]),
                # Earlier programs wrote names with blanks.
                "timings_ms": {step.replace(" ", "_"): ms for step, ms in values.get("timings_ms", {}).items()},
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
        "batches": batches_to_json(restoration.batches),
        "batches_removed": [list(key) for key in restoration.batches_removed],
        "applied_parts": applied_parts_to_json(restoration.applied_parts),
    }


def _restoration_from_json(values: Mapping[str, Any] | None) -> Restoration | None:
    if values is None:
        return None
    records = tuple(SlotRecord.from_json(one) for one in values["records"])
    # Programs before the batch map told of batches with live cells only.
    batches = {(one.slot, ""): Batch(one.attempt, one.rows_in) for one in records}
    batches_removed = tuple((slot, "") for slot in values["removed"])
    if "batches" in values:
        batches = batches_from_json(values["batches"])
        batches_removed = tuple((slot, part) for slot, part in values["batches_removed"])
    return Restoration(
        version=values["version"],
        applied=tuple((first, last) for first, last in values["applied"]),
        records=records,
        removed=tuple(values["removed"]),
        batches=batches,
        batches_removed=batches_removed,
        applied_parts=applied_parts_from_json(values.get("applied_parts", {})),
    )
