"""Status of an archive: its newest version, its ledger, one look at the clock, one listing of its folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidewheel.commits.archive import ArchiveJob
from tidewheel.indexing.rules.status import Awaiting, Status, status_of
from tidewheel.indexing.rules.vacuum import Hold, StoredFile, unreferenced
from tidewheel.storage.care import last_audit, last_vacuum
from tidewheel.storage.holds import FOLDER as HOLD_FOLDER
from tidewheel.storage.holds import held_versions
from tidewheel.storage.ledger_store import state_of
from tidewheel.storage.log_files import list_log
from tidewheel.storage.snapshot import Snapshot
from tidewheel.storage.stored_files import attempt_folder, is_scratch, stored_files


def status(job: ArchiveJob, *, listing: bool = True) -> Status:
    """How the archive is. Cost: the log since its checkpoint; with `listing`, one listing of all its files."""
    snapshot, now_us = job.snapshot(), job.clock()
    told = status_of(state_of(snapshot), path=job.location.uri, now_us=now_us)
    if not listing:
        return told
    listed = stored_files(snapshot.location)
    return replace(
        told,
        awaiting=_awaiting(snapshot, listed),
        holds=_holds(snapshot, listed, now_us),
        vacuumed=last_vacuum(job.location),
        audited=last_audit(job.location),
    )


def _awaiting(snapshot: Snapshot, listed: Sequence[StoredFile]) -> Awaiting:
    """What lies there without being in the newest version: vacuum's, as soon as grace is over.

    Not the side folder in which Spark writes what is not stored: that never was in the archive.
    """
    written = [file for file in listed if attempt_folder(file.path) is not None and not is_scratch(file.path)]
    waiting = unreferenced(written, {fact.path for fact in snapshot.files})
    return Awaiting(len(waiting), sum(file.bytes for file in waiting))


def _holds(snapshot: Snapshot, listed: Sequence[StoredFile], now_us: int) -> tuple[Hold, ...]:
    """Who keeps vacuum from a version, and until when. Cost, if anybody does: the log's listing, a small file each."""
    if not any(file.path.startswith(f"{HOLD_FOLDER}/") for file in listed):
        return ()
    return tuple(held_versions(snapshot, list_log(snapshot.location), now_us))
