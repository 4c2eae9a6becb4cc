"""Put: batches of a derived archive by slot and part in, rows that expired at its source out, in one commit.

Rows of forgotten keys leave in the same commit: whoever reads one version of answers finds them gone from all of these.

A batch with the same sources as the one that is there is not brought again. Nor is one that was brought before and is
too old to be compared: a put that was held up, while others moved on, finds that its batch is there by now.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tidewheel.commits.accounting import receipt_of
from tidewheel.commits.procedure import Lap, Procedure, Try
from tidewheel.commits.work import Work
from tidewheel.indexing.core.batch_map import BatchKey
from tidewheel.indexing.core.cells import Cell, Cells
from tidewheel.indexing.core.ledger import cells_by_slot
from tidewheel.indexing.core.plan import Plan
from tidewheel.indexing.core.plan_parts import PartsPlan, plan_erasing, plan_parts
from tidewheel.indexing.core.receipts import Receipt, SlotReceipt, Tombstone
from tidewheel.storage.snapshot import Snapshot

Slots = tuple[SlotReceipt, ...]


@dataclass(frozen=True)
class Erased:
    """The erasure of forgotten keys: the rows to remove by file, and the cells by batch."""

    tombstones: tuple[Tombstone, ...] = ()
    going: Mapping[str, Any] = field(default_factory=dict)  # as whoever brings takes it
    gone: Mapping[BatchKey, Cells] = field(default_factory=dict)

    def beside(self, plan: PartsPlan) -> dict[BatchKey, Cells]:
        """Return the live cells that leave, except those of batches that are replaced whole."""
        staying = {key: cells for key, cells in self.gone.items() if key not in set(plan.keys)}
        return alive_cells(staying, plan.watermark)


def alive_cells(gone: Mapping[BatchKey, Cells], watermark: int | None) -> dict[BatchKey, Cells]:
    """Return the cells of batches that expire after a watermark."""
    alive = {
        key: {at: cell for at, cell in cells.items() if watermark is None or at > watermark}
        for key, cells in sorted(gone.items(), key=lambda one: one[0])
    }
    return {key: cells for key, cells in alive.items() if cells}


def gone_by_cell(gone: Mapping[BatchKey, Cells]) -> dict[tuple[int, int], Cell]:
    """Return the cells of batches, added up over their parts."""
    return {(slot, at): cell for slot, cells in cells_by_slot(gone) for at, cell in cells.items()}


NOTHING_ERASED = Erased()
# Writes what a plan needs into a folder, with what each of its batches brought; this process's is in
# `local/derived/put.py`.
BringParts = Callable[[Try, PartsPlan, Erased, str, Lap], tuple[Work, Slots]]


@dataclass
class Put(Procedure):
    lineages: Mapping[BatchKey, tuple[str, ...]]  # what each batch was made of
    watermark: int | None  # the source's
    bring: BringParts
    again: bool = False  # what was made of the same is brought as well: the one that is there is damaged
    past: Mapping[str, int] = field(default_factory=dict)  # part -> slot before which nobody asks what was brought
    check: Callable[[Snapshot], None] = lambda snapshot: None  # raises where a version is not to be written over
    erasing: Callable[[Try], Erased] = lambda one: NOTHING_ERASED  # which rows of forgotten keys a version holds
    slots: Slots = ()
    erased: Erased = NOTHING_ERASED

    def plan(self, one: Try) -> PartsPlan:
        self.check(one.snapshot)
        ledger, known = one.state.ledger, one.state.ledger.batches
        keys = [key for key in self.lineages if key not in known and not ledger.has_given(key)]
        keys += [
            key
            for key, lineage in self.lineages.items()
            if key in known and (self.again or known[key].lineage != lineage)
        ]
        plan, self.erased = plan_parts(one.state, keys, self.watermark), self.erasing(one)
        if not self.erased.tombstones:
            return plan
        return plan_erasing(plan, one.state, self.erased.going, self.erased.tombstones)

    def is_needed(self, one: Try, plan: Plan) -> bool:
        moves = plan.watermark != plan.watermark_before
        return bool(_own(plan).keys or plan.dropped or plan.rewritten or plan.tombstones or moves)

    def work(self, one: Try, plan: Plan, folder: str, lap: Lap) -> Work:
        work, self.slots = self.bring(one, _own(plan), self.erased, folder, lap)
        return work

    def receipt(self, one: Try, plan: Plan, work: Work, timings_ms: Mapping[str, int]) -> Receipt:
        receipt = receipt_of(one.job, one.state, plan, work, one.attempt, timings_ms)
        fresh = sum(slot.stored for slot in self.slots)
        gone = self.erased.beside(_own(plan))
        return replace(
            receipt,
            slots=self.slots,
            forgotten=cells_by_slot(gone),
            forgotten_parts=tuple(gone.items()),
            tombstones=plan.tombstones,
            parts_past=tuple(sorted(self.past.items())),
            rows_rewritten=work.written.rows - fresh,
        )


def _own(plan: Plan) -> PartsPlan:
    assert isinstance(plan, PartsPlan)
    return plan
