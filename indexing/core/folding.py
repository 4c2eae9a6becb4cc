"""Receipts folded into a ledger, one after the other. Cost: what each receipt changes, not what is alive.

Cells leave when the watermark passes them, and batches when it has left them behind. A heap keeps each by that moment,
so a receipt looks at the heads only. A replaced slot leaves an outdated entry: what is popped is checked again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from heapq import heapify, heappop, heappush
from math import inf

from tidewheel.indexing.core.batch_map import Batch, BatchKey, SlotRecord
from tidewheel.indexing.core.cells import Cells
from tidewheel.indexing.core.ledger import Ledger, cells_beyond, cells_with, cells_without
from tidewheel.indexing.core.receipts import Deed, Receipt, SlotReceipt
from tidewheel.indexing.core.slots import ranges_since, with_slots


def fold(ledger: Ledger, version: int, receipt: Receipt, span: int) -> Ledger:
    """Return the ledger after one more receipt; a version that is already folded in changes nothing."""
    return fold_all(ledger, [(version, receipt)], span)


def fold_all(ledger: Ledger, receipts: Iterable[tuple[int, Receipt]], span: int) -> Ledger:
    """Return the ledger after some more receipts. Cost: the ledger, copied once, and what the receipts change."""
    folding = _Folding(ledger, span)
    for version, receipt in sorted(receipts, key=lambda one: one[0]):
        if version > folding.version:
            folding.take(version, receipt)
    return ledger if folding.version == ledger.version else folding.ledger()


class _Folding:
    """A ledger while receipts are added to it."""

    def __init__(self, ledger: Ledger, span: int) -> None:
        self.span = span
        self.version, self.head = ledger.version, ledger.head
        self.watermark, self.horizon = ledger.watermark, ledger.horizon
        self.applied, self.tombstones = ledger.applied, ledger.tombstones
        self.records, self.batches = dict(ledger.records), dict(ledger.batches)
        self.applied_parts = dict(ledger.applied_parts)

    def ledger(self) -> Ledger:
        return Ledger(
            version=self.version,
            head=self.head,
            watermark=self.watermark,
            applied=self.applied,
            records=self.records,
            tombstones=self.tombstones,
            batches=self.batches,
            applied_parts=self.applied_parts,
            horizon=self.horizon,
        )

    def take(self, version: int, receipt: Receipt) -> None:
        moved = receipt.watermark is not None and receipt.watermark != self.watermark
        # By the watermark and the batches of before.
        self._take_records(version, receipt)
        self.version, self.head, self.watermark = version, receipt.head, receipt.watermark
        self.horizon = self.horizon if receipt.observation is None else receipt.observation.horizon
        self.tombstones = (*self.tombstones, *receipt.tombstones)
        self._take_batches(receipt)
        self._take_parts(receipt)
        if self.watermark is not None:
            self._expire(self.watermark)
        if self.watermark is not None and moved:
            self._leave_behind(self.watermark)

    @cached_property
    def _expiring(self) -> list[tuple[float, int]]:
        """Return a heap of the moments at which each slot's first cell expires; empty slots go at the next check."""
        heap = [(_first(record), slot) for slot, record in self.records.items()]
        heapify(heap)
        return heap

    @cached_property
    def _ageing(self) -> tuple[list[BatchKey], list[BatchKey]]:
        """Return the batches of whole slots and those of named parts, the oldest first."""
        heaps: tuple[list[BatchKey], list[BatchKey]] = ([], [])
        for key in self.batches:
            heaps[bool(key[1])].append(key)
        for heap in heaps:
            heapify(heap)
        return heaps

    def _put(self, record: SlotRecord) -> None:
        self.records[record.slot] = record
        if "_expiring" in self.__dict__:
            heappush(self._expiring, (_first(record), record.slot))

    def _put_batch(self, key: BatchKey, batch: Batch) -> None:
        if key not in self.batches and "_ageing" in self.__dict__:
            heappush(self._ageing[bool(key[1])], key)
        self.batches[key] = batch

    def _take_records(self, version: int, receipt: Receipt) -> None:
        if receipt.restoration is not None:
            self.applied = receipt.restoration.applied
            for slot in receipt.restoration.removed:
                self.records.pop(slot, None)
            for record in receipt.restoration.records:
                self._put(record)
        for slot, forgotten in receipt.forgotten:
            record = self.records[slot]
            self._put(replace(record, cells=cells_without(record.cells, forgotten)))
        for one in receipt.slots:
            cells = self._cells_after(one)
            self._put(SlotRecord(one.slot, receipt.generation, version, receipt.attempt, one.rows_in, cells))
        if receipt.slots:
            self.applied = with_slots(self.applied, (one.slot for one in receipt.slots))
        if receipt.relocated:
            for slot, record in self.records.items():
                self.records[slot] = replace(record, generation=receipt.generation)

    def _cells_after(self, one: SlotReceipt) -> Cells:
        """Return a slot's cells after a batch: a named part replaces its own rows, an unnamed one all rows."""
        record = self.records.get(one.slot)
        if not one.part or record is None:
            return one.cells
        gone = cells_beyond(self.batches.get(one.key), self.watermark)
        return cells_with(cells_without(record.cells, gone), one.cells)

    def _take_batches(self, receipt: Receipt) -> None:
        """Change the batch map by the batches that came and left."""
        self._take_known_batches(receipt)
        if receipt.operation is Deed.FORGET and receipt.tombstones:
            self._mark_forgotten(receipt)
        for key, cells in receipt.forgotten_parts:
            if key in self.batches:
                # What it was made of is no longer what it holds: whoever compares makes it again.
                left = cells_without(self.batches[key].cells, cells)
                self.batches[key] = replace(self.batches[key], cells=left, lineage=())
        if receipt.parts_dropped:
            self.batches = {key: batch for key, batch in self.batches.items() if key[1] not in receipt.parts_dropped}
        for one in receipt.slots:
            self._put_batch(one.key, _batch_of(one, receipt.attempt, self.batches.get(one.key)))

    def _take_known_batches(self, receipt: Receipt) -> None:
        """Take the older batches that an undo restores, and those that a wider horizon needs."""
        if receipt.restoration is not None:
            for key in receipt.restoration.batches_removed:
                self.batches.pop(key, None)
            for key, batch in receipt.restoration.batches.items():
                self._put_batch(key, batch)
        if receipt.observation is not None:
            for key, batch in receipt.observation.batches.items():
                if key not in self.batches:
                    self._put_batch(key, batch)

    def _mark_forgotten(self, receipt: Receipt) -> None:
        """Mark the batches that the forget may have touched: it found records there, or some had left before it."""
        bound, found = max(one.slot_max for one in receipt.tombstones), {slot for slot, _ in receipt.forgotten}
        named = None if receipt.forgotten_in is None else frozenset(receipt.forgotten_in)
        for key, batch in self.batches.items():
            if key[0] > bound or (named is not None and key[0] not in named):
                continue
            if named is not None or key[0] in found or not self._lies_whole(key, batch):
                self.batches[key] = replace(batch, erasure=receipt.head)

    def _lies_whole(self, key: BatchKey, batch: Batch) -> bool:
        """Tell whether every record that came is alive: then a forget that found none of them took nothing."""
        record = self.records.get(key[0])
        if key[1] or record is None or record.attempt != batch.attempt:
            return False
        return 0 < batch.rows_in == sum(cell.rows for cell in record.cells.values())

    def _take_parts(self, receipt: Receipt) -> None:
        if receipt.restoration is not None:
            self.applied_parts = dict(receipt.restoration.applied_parts)
        for part in receipt.parts_dropped:
            self.applied_parts.pop(part, None)
        slots: dict[str, list[int]] = {}
        for one in receipt.slots:
            slots.setdefault(one.part, []).append(one.slot)
        for part in sorted(slots.keys() - {""}):
            self.applied_parts[part] = with_slots(self.applied_parts.get(part, ()), slots[part])
        for part, slot in receipt.parts_past:
            self.applied_parts[part] = ranges_since(self.applied_parts.get(part, ()), slot)

    def _expire(self, watermark: int) -> None:
        """Remove cells up to the watermark, records without any, and tombstones that no live record needs."""
        heap = self._expiring
        while heap and heap[0][0] <= watermark:
            slot = heappop(heap)[1]
            record = self.records.get(slot)
            if record is None or _first(record) > watermark:
                continue
            cells = {expiration: cell for expiration, cell in record.cells.items() if expiration > watermark}
            if cells:
                self._put(replace(record, cells=cells))
            else:
                del self.records[slot]
        span = max(self.span, self.horizon)
        relevant = (one for one in self.tombstones if one.matters_at(watermark, span))
        self.tombstones = tuple(dict.fromkeys(relevant))

    def _leave_behind(self, watermark: int) -> None:
        """Remove batches too old to matter: a whole slot after its lifetime, a part once nobody compares it.

        A topic's batch stays for one slot more: the next slot begins at its end.
        """
        oldest = (watermark - max(self.span, self.horizon), watermark - self.horizon)
        for heap, bound in zip(self._ageing, oldest, strict=True):
            stays: list[BatchKey] = []
            while heap and heap[0][0] <= bound:
                key = heappop(heap)
                batch = self.batches.get(key)
                if batch is not None and batch.offsets is not None and key[0] == bound:
                    stays.append(key)
                else:
                    self.batches.pop(key, None)
            for key in stays:
                heappush(heap, key)


def _first(record: SlotRecord) -> float:
    first = record.expiration_first
    return -inf if first is None else first


def _batch_of(one: SlotReceipt, attempt: str, before: Batch | None) -> Batch:
    revision = 0 if before is None else before.revision + 1
    if not one.part:
        return Batch(attempt, one.rows_in, revision=revision, offsets=one.offsets)
    return Batch(attempt, one.rows_in, revision=revision, lineage=one.lineage, cells=one.cells)
