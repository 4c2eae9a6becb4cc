"""The ledger: receipts, folded. It says what must be in the archive; the files say what is.

`fold` is a pure function of (ledger, version, receipt), so whoever folds the same log gets the same ledger and
folding twice changes nothing. Its size depends on what is alive, not on how long the archive has lived: a
slot's record goes when its last cell has expired, and only the ranges of applied slots stay for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tidewheel.indexing.receipts import (
    Cell,
    Operation,
    Receipt,
    SlotRecord,
    Tombstone,
)
from tidewheel.indexing.slots import merged_ranges, ranges_of


@dataclass(frozen=True)
class Ledger:
    """What the receipts through `version` add up to."""

    version: int = -1
    head: int = -1
    watermark: int | None = None
    applied: tuple[tuple[int, int], ...] = ()
    records: Mapping[int, SlotRecord] = field(default_factory=dict)
    tombstones: tuple[Tombstone, ...] = ()

    def cells(self) -> dict[tuple[int, int], Cell]:
        """Every cell that must be alive: (insertion slot, expiration slot) -> rows and hash sum."""
        return {
            (slot, expiration): cell
            for slot, record in self.records.items()
            for expiration, cell in record.cells.items()
        }

    def has_applied(self, slot: int) -> bool:
        return any(first <= slot <= last for first, last in self.applied)

    def to_json(self) -> dict[str, Any]:
        return {
            "version": self.version,
            "head": self.head,
            "watermark": self.watermark,
            "applied": [list(one) for one in self.applied],
            "records": [record.to_json() for _, record in sorted(self.records.items())],
            "tombstones": [[list(t.columns), t.digest, t.slot_max] for t in self.tombstones],
        }

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> Ledger:
        records = [SlotRecord.from_json(one) for one in values["records"]]
        return Ledger(
            version=values["version"],
            head=values["head"],
            watermark=values["watermark"],
            applied=tuple((first, last) for first, last in values["applied"]),
            records={record.slot: record for record in records},
            tombstones=tuple(Tombstone(tuple(c), d, s) for c, d, s in values["tombstones"]),
        )


def fold(ledger: Ledger, version: int, receipt: Receipt, span: int) -> Ledger:
    """The ledger after one more receipt; a version that is already folded in changes nothing."""
    if version <= ledger.version:
        return ledger
    records, applied = dict(ledger.records), ledger.applied
    if receipt.restoration is not None:
        applied = receipt.restoration.applied
        for slot in receipt.restoration.removed:
            records.pop(slot, None)
        records.update({record.slot: record for record in receipt.restoration.records})
    for slot, forgotten in receipt.forgotten:
        records[slot] = _without(records[slot], forgotten)
    for one in receipt.slots:
        records[one.slot] = SlotRecord(
            slot=one.slot,
            generation=receipt.generation,
            version=version,
            attempt=receipt.attempt,
            rows_in=one.rows_in,
            cells=one.cells,
        )
    if receipt.slots:
        applied = merged_ranges((*applied, *ranges_of(one.slot for one in receipt.slots)))
    if receipt.relocated:
        records = {slot: replace(record, generation=receipt.generation) for slot, record in records.items()}
    return Ledger(
        version=version,
        head=receipt.head,
        watermark=receipt.watermark,
        applied=applied,
        records=_alive(records, receipt.watermark),
        tombstones=_relevant((*ledger.tombstones, *receipt.tombstones), receipt.watermark, span),
    )


def fold_all(ledger: Ledger, receipts: Iterable[tuple[int, Receipt]], span: int) -> Ledger:
    for version, receipt in sorted(receipts, key=lambda one: one[0]):
        ledger = fold(ledger, version, receipt, span)
    return ledger


def slots_changed_since(receipts: Iterable[Receipt], attempt: str) -> frozenset[int]:
    """The slots whose batch another attempt replaced, or an undo changed, in these receipts."""
    changed: set[int] = set()
    for receipt in receipts:
        if receipt.attempt == attempt:
            continue
        if receipt.operation is Operation.UPDATE:
            changed.update(one.slot for one in receipt.slots)
        if receipt.restoration is not None:
            changed.update(record.slot for record in receipt.restoration.records)
            changed.update(receipt.restoration.removed)
    return frozenset(changed)


def _without(record: SlotRecord, forgotten: Mapping[int, Cell]) -> SlotRecord:
    cells = dict(record.cells)
    for expiration, cell in forgotten.items():
        left = cells[expiration].minus(cell)
        if left.rows:
            cells[expiration] = left
        else:
            del cells[expiration]
    return replace(record, cells=cells)


def _alive(records: Mapping[int, SlotRecord], watermark: int | None) -> dict[int, SlotRecord]:
    if watermark is None:
        return dict(records)
    alive = {}
    for slot, record in records.items():
        cells = record.cells
        if min(cells, default=watermark + 1) <= watermark:
            cells = {expiration: cell for expiration, cell in cells.items() if expiration > watermark}
        if cells:
            alive[slot] = record if cells is record.cells else replace(record, cells=cells)
    return alive


def _relevant(tombstones: tuple[Tombstone, ...], watermark: int | None, span: int) -> tuple[Tombstone, ...]:
    if watermark is None:
        return tombstones
    return tuple(dict.fromkeys(one for one in tombstones if one.matters_at(watermark, span)))
