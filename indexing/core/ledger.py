"""The ledger: receipts, folded. It says what must be in the archive; the files say what is.

`fold` is a pure function of (ledger, version, receipt), so whoever folds the same log gets the same ledger and
folding twice changes nothing. Its size depends on what is alive, not on how long the archive has lived: a
slot's record goes when its last cell has expired, and only the ranges of applied slots stay for ever.

Records tell what is alive; the *batch map* tells which batch counts, for every slot that is recent enough, even if
nothing of it is alive or ever was. Whoever derives something from the archive compares the map with what it saw.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tidewheel.indexing.core.cells import Cell, Cells
from tidewheel.indexing.core.receipts import (
    AppliedParts,
    Batch,
    Batches,
    BatchKey,
    Deed,
    Receipt,
    SlotReceipt,
    SlotRecord,
    Tombstone,
    applied_parts_from_json,
    applied_parts_to_json,
    batches_from_json,
    batches_to_json,
)
from tidewheel.indexing.core.slots import merged_ranges, ranges_of


@dataclass(frozen=True)
class Ledger:
    """What the receipts through `version` add up to."""

    version: int = -1
    head: int = -1
    watermark: int | None = None
    applied: tuple[tuple[int, int], ...] = ()
    records: Mapping[int, SlotRecord] = field(default_factory=dict)
    tombstones: tuple[Tombstone, ...] = ()
    batches: Batches = field(default_factory=dict)
    # Of named parts the slots that they were applied for, however long ago.
    applied_parts: AppliedParts = field(default_factory=dict)
    horizon: int = 0  # slots back from the watermark through which somebody needs the batch map

    def cells(self) -> dict[tuple[int, int], Cell]:
        """Every cell that must be alive: (insertion slot, expiration slot) -> rows and hash sum."""
        return {
            (slot, expiration): cell
            for slot, record in self.records.items()
            for expiration, cell in record.cells.items()
        }

    def has_given(self, key: BatchKey) -> bool:
        """Whether a part's batch was brought, and is too old to be compared with another one."""
        slot, part = key
        is_old = self.watermark is not None and slot <= self.watermark - self.horizon
        return is_old and any(first <= slot <= last for first, last in self.applied_parts.get(part, ()))

    def to_json(self) -> dict[str, Any]:
        return {
            "version": self.version,
            "head": self.head,
            "watermark": self.watermark,
            "applied": [list(one) for one in self.applied],
            "records": [record.to_json() for _, record in sorted(self.records.items())],
            "tombstones": [[list(t.columns), t.digest, t.slot_max] for t in self.tombstones],
            "batches": batches_to_json(self.batches),
            "applied_parts": applied_parts_to_json(self.applied_parts),
            "horizon": self.horizon,
        }

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> Ledger:
        records = [SlotRecord.from_json(one) for one in values["records"]]
        # Programs before the batch map knew of batches with live cells only.
        batches = {(one.slot, ""): Batch(one.attempt, one.rows_in) for one in records}
        if "batches" in values:
            batches = batches_from_json(values["batches"])
        return Ledger(
            version=values["version"],
            head=values["head"],
            watermark=values["watermark"],
            applied=tuple((first, last) for first, last in values["applied"]),
            records={record.slot: record for record in records},
            tombstones=tuple(Tombstone(tuple(c), d, s) for c, d, s in values["tombstones"]),
            batches=batches,
            applied_parts=applied_parts_from_json(values.get("applied_parts", {})),
            horizon=values.get("horizon", 0),
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
        records[slot] = replace(records[slot], cells=cells_without(records[slot].cells, forgotten))
    for one in receipt.slots:
        records[one.slot] = SlotRecord(
            slot=one.slot,
            generation=receipt.generation,
            version=version,
            attempt=receipt.attempt,
            rows_in=one.rows_in,
            cells=_cells_after(records.get(one.slot), ledger, one),
        )
    if receipt.slots:
        applied = merged_ranges((*applied, *ranges_of(one.slot for one in receipt.slots)))
    if receipt.relocated:
        records = {slot: replace(record, generation=receipt.generation) for slot, record in records.items()}
    horizon = ledger.horizon if receipt.observation is None else receipt.observation.horizon
    return Ledger(
        version=version,
        head=receipt.head,
        watermark=receipt.watermark,
        applied=applied,
        records=_alive(records, receipt.watermark),
        tombstones=_relevant((*ledger.tombstones, *receipt.tombstones), receipt.watermark, max(span, horizon)),
        batches=_batches_after(ledger, receipt, span, horizon),
        applied_parts=_applied_parts(ledger, receipt),
        horizon=horizon,
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
        if receipt.operation is Deed.UPDATE:
            changed.update(one.slot for one in receipt.slots)
        if receipt.restoration is not None:
            changed.update(record.slot for record in receipt.restoration.records)
            changed.update(receipt.restoration.removed)
    return frozenset(changed)


def cells_without(cells: Cells, gone: Cells) -> dict[int, Cell]:
    """What is left of cells when some of their rows go."""
    left = dict(cells)
    for expiration, cell in gone.items():
        rest = left[expiration].minus(cell)
        if rest.rows:
            left[expiration] = rest
        else:
            del left[expiration]
    return left


def cells_with(cells: Cells, more: Cells) -> dict[int, Cell]:
    """Cells and some more rows."""
    sums = dict(cells)
    for expiration, cell in more.items():
        sums[expiration] = sums[expiration].plus(cell) if expiration in sums else cell
    return sums


def part_cells(ledger: Ledger, key: BatchKey) -> dict[int, Cell]:
    """The cells of one part's batch that are alive."""
    batch, watermark = ledger.batches.get(key), ledger.watermark
    cells = batch.cells if batch is not None else {}
    return {expiration: cell for expiration, cell in cells.items() if watermark is None or expiration > watermark}


def _cells_after(record: SlotRecord | None, ledger: Ledger, one: SlotReceipt) -> Cells:
    """The cells of a slot when a batch has come: a named part replaces its own rows, an unnamed one all of them."""
    if not one.part or record is None:
        return one.cells
    return cells_with(cells_without(record.cells, part_cells(ledger, one.key)), one.cells)


def _batches_after(ledger: Ledger, receipt: Receipt, span: int, horizon: int) -> Batches:
    """The batch map after one more receipt: what came and went, then what is too old to matter."""
    batches = dict(ledger.batches)
    if receipt.restoration is not None:
        for key in receipt.restoration.batches_removed:
            batches.pop(key, None)
        batches.update(receipt.restoration.batches)
    if receipt.observation is not None:
        batches = {**receipt.observation.batches, **batches}
    if receipt.operation is Deed.FORGET and receipt.tombstones:
        bound = max(one.slot_max for one in receipt.tombstones)
        batches = {
            key: replace(batch, erasure=receipt.head) if key[0] <= bound else batch for key, batch in batches.items()
        }
    for key, cells in receipt.forgotten_parts:
        if key in batches:
            # What it was made of is no longer what it holds: whoever compares makes it again.
            batches[key] = replace(batches[key], cells=cells_without(batches[key].cells, cells), lineage=())
    batches = {key: batch for key, batch in batches.items() if key[1] not in receipt.parts_dropped}
    for one in receipt.slots:
        batches[one.key] = _batch_of(one, receipt.attempt, batches.get(one.key))
    if receipt.watermark is None or receipt.watermark == ledger.watermark:
        return batches
    # A whole slot is told of as long as it may live; a part only as long as somebody compares it.
    oldest = {"": receipt.watermark - max(span, horizon)}
    part_oldest = receipt.watermark - horizon
    return {key: batch for key, batch in batches.items() if key[0] > oldest.get(key[1], part_oldest)}


def _applied_parts(ledger: Ledger, receipt: Receipt) -> AppliedParts:
    restored = receipt.restoration
    applied = dict(ledger.applied_parts if restored is None else restored.applied_parts)
    for part in receipt.parts_dropped:
        applied.pop(part, None)
    slots: dict[str, list[int]] = {}
    for one in receipt.slots:
        slots.setdefault(one.part, []).append(one.slot)
    for part in sorted(slots.keys() - {""}):
        applied[part] = merged_ranges((*applied.get(part, ()), *ranges_of(slots[part])))
    return applied


def _batch_of(one: SlotReceipt, attempt: str, before: Batch | None) -> Batch:
    revision = 0 if before is None else before.revision + 1
    if not one.part:
        return Batch(attempt, one.rows_in, revision=revision)
    return Batch(attempt, one.rows_in, revision=revision, lineage=one.lineage, cells=one.cells)


def _alive(records: Mapping[int, SlotRecord], watermark: int | None) -> dict[int, SlotRecord]:
    if watermark is None:
        return dict(records)
    alive = {}
    for slot, record in records.items():
        cells, first = record.cells, record.expiration_first
        if first is not None and first <= watermark:
            cells = {expiration: cell for expiration, cell in cells.items() if expiration > watermark}
        if cells:
            alive[slot] = record if cells is record.cells else replace(record, cells=cells)
    return alive


def _relevant(tombstones: tuple[Tombstone, ...], watermark: int | None, span: int) -> tuple[Tombstone, ...]:
    if watermark is None:
        return tombstones
    return tuple(dict.fromkeys(one for one in tombstones if one.matters_at(watermark, span)))
