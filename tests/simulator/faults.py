"""Planted bugs: each makes the model do one thing wrong, to show that an invariant can fail."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from tidewheel.indexing.core.receipts import Deed, Receipt


class Fault(StrEnum):
    """What goes wrong, by the invariant that must notice (`invariants.py`)."""

    LOSES_A_ROW = "content"
    WRONG_COLUMN = "placement"
    NARROW_BOUNDS = "bounds"
    LEDGER_FORGETS_A_CELL = "ledger"
    UNCOUNTED_RECORD = "counts"
    KEEPS_EXPIRED_ROWS = "overdue"
    IGNORES_TOMBSTONES = "forgotten"
    STALE_BATCH_OVERWRITES = "superseded"
    OVERWRITES_A_LOG_ENTRY = "landed"
    COMMITS_TWICE = "once"
    WATERMARK_GOES_BACK = "watermark"
    STORES_ASIDE_TWICE = "side tables"
    COMMITS_VACUUMED_FILES = "named files"
    VACUUM_WITHOUT_FENCE = "brought"
    VACUUM_IGNORES_UNDO = "restored"
    VACUUM_IGNORES_GRACE = "pinned readers"
    VACUUM_SPARES_EXPIRED_FILES = "deadline"
    VACUUM_SPARES_DEAD_ATTEMPTS = "orphans"
    LOG_CLEANED_TOO_FAR = "log"
    RELOCATION_NOT_RECORDED = "audit"
    OBSERVER_IS_NOT_TOLD = "batches"
    FORGET_KEEPS_NAMES = "names"
    LINEAGE_IS_LOST = "lineages"
    VACUUM_IGNORES_HOLDS = "held readers"
    NEWCOMER_OVERTAKES = "queue"


def planted(receipt: Receipt, fault: Fault | None) -> Receipt:
    """The receipt as it gets into the log, where what keeps the log is at fault."""
    slots = receipt.slots
    if fault is Fault.WATERMARK_GOES_BACK and slots:
        return replace(receipt, watermark=slots[-1].slot)
    if fault is Fault.RELOCATION_NOT_RECORDED:
        return replace(receipt, relocated=False)
    if fault is Fault.LEDGER_FORGETS_A_CELL and slots and slots[0].cells:
        cells = dict(list(slots[0].cells.items())[1:])
        return replace(receipt, slots=(replace(slots[0], cells=cells), *slots[1:]))
    if fault is Fault.OBSERVER_IS_NOT_TOLD and receipt.observation is not None:
        return replace(receipt, observation=replace(receipt.observation, batches={}))
    if fault is Fault.FORGET_KEEPS_NAMES and receipt.operation is Deed.FORGET:
        return replace(receipt, tombstones=())
    if fault is Fault.LINEAGE_IS_LOST:
        return replace(receipt, slots=tuple(replace(one, lineage=()) for one in slots))
    return receipt
