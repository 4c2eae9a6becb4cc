"""Which slots the schedule should have brought by now: those of its runs that are due.

A run is due when its interval has ended; it is missed only after the time that the archive's freshness gives it, or a
vacuum period where none is promised. What lies before the schedule's start, or before the archive itself, no run was
ever due to bring. A schedule that does not make up for missed runs (`catchup = false`) owes nothing it passed over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidewheel.dags.timetable import ArchiveTimetable
from tidewheel.indexing.core.cron import NEVER
from tidewheel.indexing.core.definition import ArchiveFile
from tidewheel.indexing.core.state import TableState

if TYPE_CHECKING:
    from tidewheel.archive import Archive

Ranges = tuple[tuple[int, int], ...]


def due_now(archive: Archive) -> Ranges:
    """The slots of an archive that were due by its clock."""
    from tidewheel.storage.ledger_store import state_of

    snapshot = archive.snapshot()
    return due_slots(archive.job.require_file(), state_of(snapshot), snapshot.created_us, archive.now_us())


def due_slots(file: ArchiveFile, state: TableState, created_us: int, now_us: int) -> Ranges:
    """Closed ranges of slots, in order; none that could bring nothing alive any more."""
    schedule, axis = file.schedule, file.axis
    if schedule.cron == NEVER or not schedule.catchup or state.watermark is None:
        return ()
    patience_us = schedule.freshness_us or file.retention.vacuum_period_us
    timetable = ArchiveTimetable(schedule.cron, None)
    _, through_us = timetable.newest_due_us(now_us - patience_us)
    # Without a start the first run was the one that was due when the archive was made, or came later.
    since_us, _ = timetable.newest_due_us(created_us)
    first = axis.slot_of(since_us if schedule.start_us is None else schedule.start_us)
    if schedule.start_us is None and state.ledger.applied:
        first = max(first, state.ledger.applied[0][0])
    first = max(first, state.watermark - state.definition.span + 1)
    last = axis.slot_of(through_us) - 1
    return ((first, last),) if first <= last else ()
