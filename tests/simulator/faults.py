"""Planted bugs: each makes the model do one thing wrong, to show that an invariant can fail."""

from enum import StrEnum


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
    QUARANTINES_TWICE = "quarantine"
    COMMITS_VACUUMED_FILES = "named files"
    VACUUM_WITHOUT_FENCE = "brought"
    VACUUM_IGNORES_UNDO = "restored"
    VACUUM_IGNORES_GRACE = "pinned readers"
    VACUUM_SPARES_EXPIRED_FILES = "deadline"
    VACUUM_SPARES_DEAD_ATTEMPTS = "orphans"
    LOG_CLEANED_TOO_FAR = "log"
    RELOCATION_NOT_RECORDED = "audit"
