"""Status of an archive: its newest version, its ledger, one look at the clock, one listing of its folder."""

from __future__ import annotations

from tidewheel.commits.archive import ArchiveJob
from tidewheel.indexing.rules.status import Awaiting, Status, status_of
from tidewheel.indexing.rules.vacuum import unreferenced
from tidewheel.storage.ledger_store import state_of
from tidewheel.storage.snapshot import Snapshot
from tidewheel.storage.stored_files import attempt_folder, is_scratch, stored_files


def status(job: ArchiveJob, *, listing: bool = True) -> Status:
    """How the archive is. Cost: the log since its checkpoint; with `listing`, one listing of all its files."""
    snapshot = job.snapshot()
    awaiting = _awaiting(snapshot) if listing else None
    return status_of(state_of(snapshot), path=job.location.uri, now_us=job.clock(), awaiting=awaiting)


def _awaiting(snapshot: Snapshot) -> Awaiting:
    """What lies there without being in the newest version: vacuum's, as soon as grace is over.

    Not the side folder in which Spark writes what is not stored: that never was in the archive.
    """
    listed = stored_files(snapshot.location)
    written = [file for file in listed if attempt_folder(file.path) is not None and not is_scratch(file.path)]
    waiting = unreferenced(written, {fact.path for fact in snapshot.files})
    return Awaiting(len(waiting), sum(file.bytes for file in waiting))
