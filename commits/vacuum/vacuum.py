"""Vacuum: delete what nobody needs any more. Safe to interrupt and to repeat.

In this order, so that whatever is interrupted leaves an archive that is whole:

1. No undo goes back any more beyond what vacuum leaves whole; one under way is stopped by a fence (`storage/floor.py`).
   Then it looks which versions readers hold (`storage/holds.py`): what they need stays, and they are named.
2. Data files that no version within grace, and none that is held, needs, with the folders they leave empty. If no
   commit ever brought some of them, a fence is committed first (`commits/operations/fence.py`); else vacuum commits
   nothing, but for what an archive of an earlier program lacks (`commits/statement.py`). They go before anything larger
   than a mark is written, as a full disk is what many a vacuum is for.
3. Receipts are folded into the ledger, and a checkpoint is written: the log may only go when both have it.
4. Log entries and checkpoints older than the log's retention, never beyond what such a reader needs. Ledger files from
   before the oldest version that is left are joined, so that there are few of them however old the archive is.
5. Rows of side tables (the quarantine) of batches that no longer count, or that were kept long enough.
6. Lease tickets of dead writers, holds that are over, and temporary files of writes that were cut off.

Updates in flight lose nothing: their files are younger than grace, and what they take out stays for grace.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.fail_points import reach
from tidewheel.commits.operations.fence import fence
from tidewheel.commits.statement import state_statistics
from tidewheel.commits.vacuum.deleted import DATA, HOLD, LEASE, LOG_FILES, TEMPORARY, VacuumReport
from tidewheel.commits.vacuum.log_steps import delete_log
from tidewheel.commits.vacuum.side_table_sweep import sweep_side_tables
from tidewheel.indexing.core.slots import MICROS_PER_SECOND
from tidewheel.indexing.errors import Conflict
from tidewheel.indexing.rules.vacuum import StoredFile, joined_files, log_unneeded, unneeded, unreferenced
from tidewheel.storage.address import SIDE_FOLDER
from tidewheel.storage.floor import raise_floor, undos, withdraw
from tidewheel.storage.holds import FOLDER as HOLD_FOLDER
from tidewheel.storage.holds import ended_holds, held_versions
from tidewheel.storage.lease import FOLDER as LEASE_FOLDER
from tidewheel.storage.lease import WAIT_MAX_S
from tidewheel.storage.ledger_store import fold_into_ledger, folded_versions, join_ledger_files
from tidewheel.storage.location import Location
from tidewheel.storage.log_files import LogFiles, list_log, never_named, removed_after
from tidewheel.storage.receipt_files import FOLDER as LEDGER_FOLDER
from tidewheel.storage.receipt_files import ledger_path
from tidewheel.storage.snapshot import Snapshot
from tidewheel.storage.stored_files import attempt_folder, is_scratch, stored_files


class StillRead(NamedTuple):
    """Data files that have left the archive and that somebody may still read."""

    for_grace: set[str]
    for_holds: set[str]


def vacuum(job: ArchiveJob, *, dry_run: bool = False) -> VacuumReport:
    """Delete what no version within grace needs. Cost: one listing, the log entries within grace."""
    now_us = job.clock()
    snapshot = job.snapshot()
    since_us = now_us - snapshot.definition.retention.grace_us
    oldest = list_log(job.location).needed_min(snapshot.version, since_us)
    if not dry_run:
        _keep_undo_out(job, oldest)
        with suppress(Conflict):  # then whoever was first has said it
            state_statistics(job, job.snapshot(), job.table.name_attempt(now_us))
        snapshot = job.snapshot()
        reach("vacuum_begun")
    report = VacuumReport(snapshot.version, dry_run)
    log = list_log(job.location)
    report.holds = tuple(held_versions(snapshot, log, now_us))
    held = min([oldest, *(hold.version for hold in report.holds)])
    for_grace = removed_after(job.location, log, oldest)
    kept = StillRead(for_grace, for_grace if held == oldest else removed_after(job.location, log, held))
    _sweep_data(job, snapshot, log, kept, since_us, report)
    reach("vacuum_data_done")
    if not dry_run:
        job.progress("folding receipts, writing a checkpoint")
        fold_into_ledger(snapshot, every=1)
        job.table.write_checkpoint(snapshot)
        reach("vacuum_folded")
        log = list_log(job.location)
    _sweep_log(job, snapshot, log, held, now_us, report)
    reach("vacuum_log_done")
    sweep_side_tables(job, snapshot, oldest, now_us, report)
    reach("vacuum_side_tables_done")
    _sweep_beside(job, log, now_us, since_us, report)
    return report


def _keep_undo_out(job: ArchiveJob, oldest: int) -> None:
    """Keep undos from going back beyond the oldest version; what they have restored until now stays."""
    raise_floor(job.location, oldest)
    if marks := undos(job.location):
        job.progress("committing a fence, so that no undo under way brings back what is deleted")
        fence(job)
        withdraw(job.location, marks)


def _sweep_data(
    job: ArchiveJob, snapshot: Snapshot, log: LogFiles, kept: StillRead, since_us: int, report: VacuumReport
) -> None:
    listed = _of_attempts(stored_files(job.location))
    current = {fact.path for fact in snapshot.files}
    needed = current | kept.for_grace
    gone = unneeded(listed, needed | kept.for_holds, since_us)
    held = [file for file in unneeded(listed, needed, since_us) if file.path in kept.for_holds]
    report.held_files, report.held_bytes = len(held), sum(file.bytes for file in held)
    data = [file for file in gone if not is_scratch(file.path)]
    if not report.dry_run and never_named(job.location, log, data):
        gone = _behind_a_fence(job, snapshot, gone)
    report.count(DATA, gone)
    waiting = _waiting(unreferenced(listed, current), gone)
    report.awaiting_files, report.awaiting_bytes = len(waiting), sum(file.bytes for file in waiting)
    if not report.dry_run:
        _delete_data(job, gone)
        report.folders = _remove_empty_folders(job.location, gone, since_us)


def _of_attempts(files: Iterable[StoredFile]) -> list[StoredFile]:
    return [file for file in files if attempt_folder(file.path) is not None]


def _waiting(unnamed: Iterable[StoredFile], gone: Sequence[StoredFile]) -> list[StoredFile]:
    """Return the files that will go once grace is over; Spark's side folder never was in the archive."""
    going = {file.path for file in gone}
    return [file for file in unnamed if file.path not in going and not is_scratch(file.path)]


def _delete_data(job: ArchiveJob, gone: Sequence[StoredFile]) -> None:
    reach("vacuum_listed")
    job.progress(f"deleting {len(gone)} data files")
    half = len(gone) // 2
    job.location.delete_all(file.path for file in gone[:half])
    reach("vacuum_half_done")
    job.location.delete_all(file.path for file in gone[half:])


def _behind_a_fence(job: ArchiveJob, snapshot: Snapshot, gone: Sequence[StoredFile]) -> list[StoredFile]:
    """Commit a fence, then return the files that may go: all but those committed since the snapshot."""
    job.progress("committing a fence, so that no attempt can bring what is deleted")
    fence(job)
    brought = {fact.path for fact in job.snapshot().files}
    return unreferenced(gone, brought | removed_after(job.location, list_log(job.location), snapshot.version))


def _sweep_log(
    job: ArchiveJob, snapshot: Snapshot, log: LogFiles, oldest: int, now_us: int, report: VacuumReport
) -> None:
    retention = snapshot.definition.retention
    gone = log_unneeded(
        log.entries,
        log.checkpoints,
        needed_min=oldest,
        folded=folded_versions(snapshot),
        since_us=now_us - max(retention.log_us, retention.grace_us),
    )
    delete_log(job.location, log, gone, report, LOG_FILES, job.table.check_checkpoint)
    _join_ledger(snapshot, min([*log.entries, *log.checkpoints], default=0), report)


def _join_ledger(snapshot: Snapshot, oldest: int, report: VacuumReport) -> None:
    """Merge ledger files before the oldest version that can be opened: only their receipts are still of use."""
    files = {file.path: file for file in stored_files(snapshot.location, LEDGER_FOLDER)}
    if report.dry_run:
        joined = list(joined_files(folded_versions(snapshot), oldest)[:-1])
    else:
        joined = join_ledger_files(snapshot, oldest)
        reach("vacuum_ledger_joined")
        snapshot.receipts.drop(joined)
    report.count(LOG_FILES, [files[path] for path in map(ledger_path, joined) if path in files])


def _sweep_beside(job: ArchiveJob, log: LogFiles, now_us: int, since_us: int, report: VacuumReport) -> None:
    stale_us = now_us - int(WAIT_MAX_S * MICROS_PER_SECOND)
    tickets = [file for file in stored_files(job.location, LEASE_FOLDER) if file.changed_us <= stale_us]
    over = set(ended_holds(job.location, now_us))
    ended = [file for file in stored_files(job.location, HOLD_FOLDER) if file.path in over]
    cut_off = [file for file in _temporary(job, log) if file.changed_us <= since_us and file not in tickets]
    for kind, gone in ((LEASE, tickets), (HOLD, ended), (TEMPORARY, cut_off)):
        report.count(kind, gone)
        if not report.dry_run:
            job.location.delete_all(file.path for file in gone)


def _temporary(job: ArchiveJob, log: LogFiles) -> list[StoredFile]:
    # Side files are written under a name that starts with a dot, then renamed.
    beside = (file for file in stored_files(job.location, SIDE_FOLDER) if file.path.rsplit("/", 1)[-1].startswith("."))
    return [*log.temporary, *beside]


def _remove_empty_folders(location: Location, gone: Iterable[StoredFile], since_us: int) -> int:
    """Remove folders that are empty now, from the innermost out; an object store has none."""
    if not location.is_local:
        return 0
    root = Path(location.root)
    left = {parent for file in gone for parent in (root / file.path).parents if root in parent.parents}
    # What a dead attempt left without any file.
    for folder in root.iterdir():
        if attempt_folder(folder.name) is not None and folder.stat().st_mtime_ns // 1000 <= since_us:
            left |= {folder, *(path for path in folder.rglob("*") if path.is_dir())}
    removed = 0
    for folder in sorted(left, key=lambda path: len(path.parts), reverse=True):
        try:
            folder.rmdir()
            removed += 1
        except OSError:
            continue  # not empty
    return removed
