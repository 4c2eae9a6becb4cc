"""The ledger: receipts, folded. It says what must be in the archive; the files say what is.

`fold` (`folding.py`) is a pure function of (ledger, version, receipt), so whoever folds the same log gets the same
ledger and folding twice changes nothing. Its size depends on what is alive, not on how long the archive has lived: a
slot's record goes when its last cell has expired, and only the ranges of applied slots stay for ever.

Records tell what is alive; the *batch map* tells which batch counts, for every slot that is recent enough, even if
nothing of it is alive or ever was. Whoever derives something from the archive compares the map with what it saw.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
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
from tidewheel.indexing.core.cells import Cell, Cells
from tidewheel.indexing.core.receipts import Deed, Receipt, Tombstone
from tidewheel.indexing.core.slots import has_slot


@dataclass(frozen=True)
class Ledger:
    """The sum of all receipts through `version`."""

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
        """Return every cell that must be alive: (insertion slot, expiration slot) -> rows and hash sum."""
        return {
            (slot, expiration): cell
            for slot, record in self.records.items()
            for expiration, cell in record.cells.items()
        }

    def has_given(self, key: BatchKey) -> bool:
        """Tell whether a part's batch was committed, and is too old to be compared with another one."""
        slot, part = key
        is_old = self.watermark is not None and slot <= self.watermark - self.horizon
        return is_old and has_slot(self.applied_parts.get(part, ()), slot)

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


def slots_changed_since(receipts: Iterable[Receipt], attempt: str) -> frozenset[int]:
    """Return the slots whose batch another attempt replaced, or an undo changed, in these receipts."""
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


def cells_by_slot(parts: Mapping[BatchKey, Cells]) -> tuple[tuple[int, Cells], ...]:
    """Return the cells of batches, added up over the parts of each slot."""
    found: dict[int, dict[int, Cell]] = {}
    for (slot, _), cells in parts.items():
        mine = found.setdefault(slot, {})
        for expiration, cell in cells.items():
            mine[expiration] = mine[expiration].plus(cell) if expiration in mine else cell
    return tuple(sorted(found.items()))


def cells_without(cells: Cells, gone: Cells) -> dict[int, Cell]:
    """Return the rest of some cells after a part of their rows is gone."""
    left = dict(cells)
    for expiration, cell in gone.items():
        rest = left[expiration].minus(cell)
        if rest.rows:
            left[expiration] = rest
        else:
            del left[expiration]
    return left


def cells_with(cells: Cells, more: Cells) -> dict[int, Cell]:
    """Return the sum of cells and some more rows."""
    sums = dict(cells)
    for expiration, cell in more.items():
        sums[expiration] = sums[expiration].plus(cell) if expiration in sums else cell
    return sums


def part_cells(ledger: Ledger, key: BatchKey) -> dict[int, Cell]:
    """Return the cells of one part's batch that are alive."""
    return cells_beyond(ledger.batches.get(key), ledger.watermark)


def cells_beyond(batch: Batch | None, watermark: int | None) -> dict[int, Cell]:
    """Return the cells of a batch that expire after a watermark."""
    cells = batch.cells if batch is not None else {}
    return {expiration: cell for expiration, cell in cells.items() if watermark is None or expiration > watermark}
