"""Status of an archive: its newest version, its ledger, one look at the clock, one listing of its folder.

With an archive file also the view of its schedule: which slots are due, and how old the newest batch may be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidewheel.commits.archive import ArchiveJob
from tidewheel.indexing.core.definition import ArchiveFile
from tidewheel.indexing.core.state import TableState
from tidewheel.indexing.errors import Damaged, TidewheelError
from tidewheel.indexing.rules.due import due_slots, looked_at, missing_slots, missing_with
from tidewheel.indexing.rules.freshness import Landing, freshness_of, is_catching_up
from tidewheel.indexing.rules.health import health_of
from tidewheel.indexing.rules.status import Awaiting, Status, status_of
from tidewheel.indexing.rules.vacuum import Hold, StoredFile, unreferenced
from tidewheel.storage.address import SIDE_FOLDER
from tidewheel.storage.batch_files import absent_batches
from tidewheel.storage.care_notes import last_audit, last_vacuum
from tidewheel.storage.holds import FOLDER as HOLD_FOLDER
from tidewheel.storage.holds import held_versions
from tidewheel.storage.ledger_store import receipts_since, state_of
from tidewheel.storage.log_files import list_log
from tidewheel.storage.snapshot import Snapshot
from tidewheel.storage.stored_files import attempt_folder, is_scratch, stored_files

COMMITS_LOOKED_AT = 40


def status(job: ArchiveJob, *, listing: bool = True, file: ArchiveFile | None = None) -> Status:
    """Return the status of the archive.

    Cost: the log since its checkpoint; with `listing`, one listing of all its files; with the archive file, a look for
    batches that are due and did not come.
    """
    snapshot, now_us = job.snapshot(), job.clock()
    state = state_of(snapshot)
    plain = status_of(state, path=job.location.uri, now_us=now_us, created_us=snapshot.created_us)
    told = _by_schedule(plain, state, snapshot, file)
    if listing:
        listed = stored_files(snapshot.location)
        told = replace(
            told,
            awaiting=_awaiting(snapshot, listed),
            holds=_holds(snapshot, listed, now_us),
            vacuumed=last_vacuum(job.location),
            audited=last_audit(job.location),
            set_aside=_set_aside(job, listed),
        )
    return replace(told, health=health_of(told))


def _by_schedule(told: Status, state: TableState, snapshot: Snapshot, file: ArchiveFile | None) -> Status:
    """Return the status with the slots that are due and the freshness."""
    created_us, now_us = told.created_us, told.now_us
    freshness = freshness_of(file, told.applied_through_us, created_us, now_us)
    if freshness.is_over and freshness.bound_us is not None:
        catches_up = is_catching_up(_landings(snapshot), told.axis.interval_us, freshness.bound_us, now_us)
        freshness = replace(freshness, is_catching_up=catches_up)
    if file is None:
        return replace(told, freshness=freshness)
    missing = missing_slots(state, due_slots(file, state, created_us, now_us))
    looked = looked_at(missing)
    found = missing_with(missing, looked, _absent(file, looked))
    return replace(told, has_schedule=True, freshness=freshness, missing_due=found)


def _absent(file: ArchiveFile, slots: list[int]) -> dict[int, str]:
    """Return the paths of missing batches, by slot.

    If the source does not answer, none is reported, and the archive's status is given all the same.
    """
    try:
        return dict(absent_batches(file, slots))
    except (OSError, TidewheelError):
        return {}


def _landings(snapshot: Snapshot) -> list[Landing]:
    """Return the newest commits that each brought a newer slot than those before, oldest first."""
    landings: list[Landing] = []
    axis = snapshot.definition.axis
    for _, receipt in receipts_since(snapshot, max(-1, snapshot.version - COMMITS_LOOKED_AT)):
        end_us = max((axis.end_us(one.slot) for one in receipt.slots), default=None)
        if end_us is not None and (not landings or end_us > landings[-1].end_us):
            landings.append(Landing(receipt.committed_us, end_us))
    return landings


def _awaiting(snapshot: Snapshot, listed: Sequence[StoredFile]) -> Awaiting:
    """Return the files that lie there outside the newest version: vacuum deletes them once grace is over.

    Spark's side folder of unstored records does not count: it never was in the archive.
    """
    written = [file for file in listed if attempt_folder(file.path) is not None and not is_scratch(file.path)]
    waiting = unreferenced(written, {fact.path for fact in snapshot.files})
    return Awaiting(len(waiting), sum(file.bytes for file in waiting))


def _set_aside(job: ArchiveJob, listed: Sequence[StoredFile]) -> dict[str, int] | None:
    """Return the quarantine by rule. Cost, if there is one: all receipts, and three of its columns."""
    if not any(file.path.startswith(f"{SIDE_FOLDER}/quarantine/") for file in listed):
        return {}
    from tidewheel.commits.side_tables.quarantine import rule_counts

    try:
        return rule_counts(job)
    except Damaged:
        return None


def _holds(snapshot: Snapshot, listed: Sequence[StoredFile], now_us: int) -> tuple[Hold, ...]:
    """Return who keeps vacuum from a version, and until when.

    Cost, if anybody does: the log's listing, a small file each.
    """
    if not any(file.path.startswith(f"{HOLD_FOLDER}/") for file in listed):
        return ()
    return tuple(held_versions(snapshot, list_log(snapshot.location), now_us))
