"""The log files that the versions within grace are read from, for audit: all there, and each of its own version.

The newest version opens without most of them, but undo and readers of the past need the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import unquote

import pyarrow.parquet as pq

from tidewheel.commits.archive import ArchiveJob
from tidewheel.indexing.core.receipts import Receipt
from tidewheel.indexing.rules.findings import Finding, Flaw
from tidewheel.storage.decoding import READ_ERRORS, gist
from tidewheel.storage.floor import floor
from tidewheel.storage.location import Location
from tidewheel.storage.log_faults import missing_checkpoint
from tidewheel.storage.log_files import LogFiles, list_log
from tidewheel.storage.snapshot import FILES_ID, HEAD_ID, Snapshot, digest_of

MENDED = "restore it from a copy of the log"


def older_version_findings(
    job: ArchiveJob, snapshot: Snapshot, receipts: Sequence[tuple[int, Receipt]]
) -> list[Finding]:
    """Cost: one listing of the log, and the checkpoints that are still needed.

    What is found is looked for again: a vacuum may have deleted while we looked.
    """
    return _findings(job, snapshot, receipts) and _findings(job, snapshot, receipts)


def _findings(job: ArchiveJob, snapshot: Snapshot, receipts: Sequence[tuple[int, Receipt]]) -> list[Finding]:
    log = list_log(snapshot.location)
    # A vacuum says what it leaves whole; one of an earlier program did not.
    within_grace = log.needed_min(snapshot.version, job.clock() - snapshot.definition.retention.grace_us)
    needed = floor(snapshot.location) or within_grace
    findings = [_missing(path) for path in _missing_entries(log, snapshot.version)]
    findings += [Finding(Flaw.UNREADABLE, one) for one in missing_checkpoint(snapshot.location, set(log.checkpoints))]
    first = max((at for at in log.checkpoints if at <= needed), default=-1)
    if first + 1 < min(log.entries, default=0):
        findings.append(_no_beginning(log, needed))
    for version, file in sorted(log.checkpoints.items()):
        if not first <= version <= snapshot.version:
            continue
        head = max((one.head for at, one in receipts if at <= version), default=version)
        if fault := _checkpoint_fault(snapshot.location, file.path, version, head):
            findings.append(Finding(Flaw.UNREADABLE, f"the checkpoint {file.path} {fault}: {MENDED}", None, file.path))
    return findings


def _missing_entries(log: LogFiles, newest: int) -> Iterator[str]:
    """Yield entries missing between the oldest and the newest: a vacuum deletes the oldest first, without a gap."""
    for version in range(min(log.entries, default=newest), newest + 1):
        if version not in log.entries:
            yield f"_delta_log/{version:020d}.json"


def _missing(path: str) -> Finding:
    return Finding(Flaw.UNREADABLE, f"the log entry {path} is missing: {MENDED}", None, path)


def _no_beginning(log: LogFiles, needed: int) -> Finding:
    said = (
        f"version {needed}, which no vacuum has given up, cannot be opened: the oldest log entry is that of version "
        f"{min(log.entries)}, and no checkpoint leads there"
    )
    return Finding(Flaw.UNREADABLE, f"{said}: restore the log from a copy")


def _checkpoint_fault(location: Location, path: str, version: int, head: int) -> str:
    """How a checkpoint differs from what the commit of its version left; nothing if it does not."""
    try:
        with location.filesystem.open_input_file(location.child(path)) as source:
            stored = pq.ParquetFile(source).read(columns=["txn", "add.path", "add.size"])
        rows = stored.to_pylist()
    except (*READ_ERRORS, ValueError, KeyError) as error:
        return f"cannot be read ({gist(error)})"
    told = {one["txn"]["appId"]: one["txn"]["version"] for one in rows if one["txn"]}
    if told.get(HEAD_ID) != head:
        return f"is not the one that was written for version {version}"
    files = digest_of((unquote(one["add"]["path"]), one["add"]["size"]) for one in rows if one["add"])
    # Commits of others bring files and no digest.
    return "names other files than its commit left" if head == version and told.get(FILES_ID, files) != files else ""
