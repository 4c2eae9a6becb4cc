"""Receipts folded one by one, everything copied and looked through each time: slow, and plainly what is meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tidewheel.indexing.core.batch_map import AppliedParts, Batch, Batches, BatchKey, SlotRecord
from tidewheel.indexing.core.cells import Cells
from tidewheel.indexing.core.ledger import Ledger, cells_with, cells_without, part_cells
from tidewheel.indexing.core.receipts import Deed, Receipt, SlotReceipt, Tombstone
from tidewheel.indexing.core.slots import merged_ranges, ranges_of


def slow_fold(ledger: Ledger, version: int, receipt: Receipt, span: int) -> Ledger:
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
        met = {key for key in batches if key[0] <= bound and not _is_free(ledger, receipt, key)}
        batches |= {key: replace(batches[key], erasure=receipt.head) for key in met}
    for key, cells in receipt.forgotten_parts:
        if key in batches:
            # What it was made of is no longer what it holds: whoever compares makes it again.
            batches[key] = replace(batches[key], cells=cells_without(batches[key].cells, cells), lineage=())
    batches = {key: batch for key, batch in batches.items() if key[1] not in receipt.parts_dropped}
    for one in receipt.slots:
        batches[one.key] = _batch_of(one, receipt.attempt, batches.get(one.key))
    if receipt.watermark is None or receipt.watermark == ledger.watermark:
        return batches
    # A whole slot is told of as long as it may live, of a topic for one slot more: where it ended, the next one begins.
    oldest = receipt.watermark - max(span, horizon)
    part_oldest = receipt.watermark - horizon
    return {
        key: batch
        for key, batch in batches.items()
        if key[0] > (part_oldest if key[1] else oldest - (batch.offsets is not None))
    }


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
    for part, slot in receipt.parts_past:
        applied[part] = tuple((first, last) for first, last in applied.get(part, ()) if last >= slot)
    return applied


def _batch_of(one: SlotReceipt, attempt: str, before: Batch | None) -> Batch:
    revision = 0 if before is None else before.revision + 1
    if not one.part:
        return Batch(attempt, one.rows_in, revision=revision, offsets=one.offsets)
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


def _is_free(ledger: Ledger, receipt: Receipt, key: BatchKey) -> bool:
    """Whether a forget found nothing of a slot all of whose records were there to be searched."""
    record, batch = ledger.records.get(key[0]), ledger.batches.get(key)
    if key[1] or record is None or batch is None or key[0] in dict(receipt.forgotten):
        return False
    is_its = record.attempt == batch.attempt
    return is_its and 0 < batch.rows_in == sum(cell.rows for cell in record.cells.values())
