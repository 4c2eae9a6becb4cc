"""The receipt of an attempt: counted from the files that were written, not from what the plan intended."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.work import Work
from tidewheel.indexing.core.cells import Cell
from tidewheel.indexing.core.fates import DEAD_ON_ARRIVAL, FORGOTTEN, RULES, SHORT_LIVED
from tidewheel.indexing.core.plan import Plan
from tidewheel.indexing.core.plan_kinds import UndoPlan
from tidewheel.indexing.core.receipts import Deed, Receipt, SlotReceipt
from tidewheel.indexing.core.state import TableState
from tidewheel.indexing.errors import Damaged

PROGRAM = f"tidewheel {version('tidewheel')}"


def receipt_of(
    job: ArchiveJob, state: TableState, plan: Plan, work: Work, attempt: str, timings_ms: Mapping[str, int]
) -> Receipt:
    """Return the receipt of the commit of this work. Cost: one pass over the cells written."""
    slots = slot_receipts(plan, work)
    for one in slots:
        if not one.balanced:
            raise Damaged(f"the counts of slot {one.slot} do not add up: {one}. Nothing was changed")
    removed = [change.file for change in (*plan.dropped, *plan.rewritten)]
    batch_rows = sum(one.stored for one in slots)
    return Receipt(
        operation=plan.operation,
        attempt=attempt,
        head=state.head + 1,
        watermark=plan.watermark,
        generation=plan.generation.number,
        committed_us=job.clock(),
        slots=slots,
        capped_rows=work.capped_rows,
        late_rows=work.late_rows,
        files_added=len(work.written.files),
        bytes_added=work.written.bytes,
        files_removed=len(removed),
        bytes_removed=sum(file.bytes for file in removed),
        files_dropped=len(plan.dropped),
        bytes_dropped=sum(change.file.bytes for change in plan.dropped),
        rows_read=work.rows_read,
        rows_rewritten=work.written.rows - batch_rows,
        subindices_touched=touched(plan, work),
        timings_ms=dict(timings_ms),
        program=PROGRAM,
        note=f"hand {work.hand}" if work.hand else "",
    )


def bare_receipt(job: ArchiveJob, state: TableState, operation: Deed, attempt: str, note: str = "") -> Receipt:
    """Return the receipt of a commit that touches no file and leaves the watermark where it is."""
    return Receipt(
        operation=operation,
        attempt=attempt,
        head=state.head + 1,
        watermark=state.watermark,
        generation=state.definition.current.number,
        committed_us=job.clock(),
        program=PROGRAM,
        note=note,
    )


def undo_receipt(job: ArchiveJob, attempt: str, plan: UndoPlan, timings_ms: Mapping[str, int]) -> Receipt:
    """Return the receipt of going back: removed files were not read, restored ones not written."""
    gone = [change.file for change in plan.dropped]
    return Receipt(
        operation=plan.operation,
        attempt=attempt,
        head=plan.head + 1,
        watermark=plan.watermark,
        generation=plan.generation.number,
        committed_us=job.clock(),
        tombstones=plan.tombstones,
        restoration=plan.restoration,
        files_added=len(plan.restored),
        bytes_added=sum(file.bytes for file in plan.restored),
        files_removed=len(gone),
        bytes_removed=sum(file.bytes for file in gone),
        files_dropped=len(gone),
        bytes_dropped=sum(file.bytes for file in gone),
        subindices_touched=tuple(sorted({file.subindex for file in (*gone, *plan.restored)})),
        timings_ms=dict(timings_ms),
        program=PROGRAM,
        note=f"back to version {plan.to_version}",
    )


def touched(plan: Plan, work: Work) -> tuple[tuple[int, int, int], ...]:
    """Return the sub-indices that got or lost a file."""
    changed = {change.file.subindex for change in (*plan.dropped, *plan.rewritten)}
    return tuple(sorted(changed | {file.fact.subindex for file in work.written.files}))


def slot_receipts(plan: Plan, work: Work) -> tuple[SlotReceipt, ...]:
    """Return what became of the records of each slot. Cost: one pass over the cells written for each slot."""
    return tuple(_slot_receipt(slot, plan, work) for slot in plan.slots)


def _slot_receipt(slot: int, plan: Plan, work: Work) -> SlotReceipt:
    cells: dict[int, Cell] = {}
    for (number, _, _), there in work.written.cells.items():
        if number == plan.generation.number:
            for (insertion, expiration), cell in there.items():
                if insertion == slot:
                    cells[expiration] = cells[expiration].plus(cell) if expiration in cells else cell
    fates = {code: work.written.fates.get((slot, code), 0) for code in (SHORT_LIVED, DEAD_ON_ARRIVAL, FORGOTTEN)}
    unstored = fates[SHORT_LIVED] + fates[DEAD_ON_ARRIVAL]
    rules = {RULES[rule]: rows for (insertion, rule), rows in work.written.rules.items() if insertion == slot}
    quarantined = sum(rules.values())
    stored = sum(cell.rows for cell in cells.values())
    return SlotReceipt(
        slot=slot,
        rows_in=stored + sum(fates.values()) + quarantined,
        stored=stored,
        short_lived=fates[SHORT_LIVED],
        dead_on_arrival=fates[DEAD_ON_ARRIVAL],
        forgotten=fates[FORGOTTEN],
        quarantined=quarantined,
        cells=cells,
        lineage=tuple(work.lineage.get(slot, ())),
        beside=unstored if plan.keeps_unstored(slot) else 0,
        offsets=work.offsets.get(slot),
        rules=dict(sorted(rules.items())),
    )
