"""Files of an archive, its partials or answers that cannot be read: which one it is, and the next command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import duckdb

from tidewheel.commits.archive import ArchiveJob
from tidewheel.indexing.core.definition import DERIVED_KINDS
from tidewheel.indexing.errors import Damaged, TidewheelError
from tidewheel.local.derived.neighbours import derived_job, is_there
from tidewheel.sql.file_faults import faulty_file, undecodable_file
from tidewheel.storage.decoding import READ_ERRORS
from tidewheel.storage.log_faults import table_faults
from tidewheel.storage.machine import machine_fault
from tidewheel.storage.snapshot import open_snapshot

# Beside these a damaged file makes DuckDB fail, and readers of ours that refuse it by name.
_FAILED = (*READ_ERRORS, Damaged, duckdb.Error)


@contextmanager
def damage_named(job: ArchiveJob) -> Iterator[None]:
    """Around what reads an archive, its partials and its answers. Cost: nothing, and if it fails, all their files."""
    try:
        yield
    except _FAILED as error:
        if found := damage_behind(error, job):
            raise found from error
        raise


def damage_behind(error: Exception, job: ArchiveJob) -> TidewheelError | None:
    """Find the cause of an error that reading files raised: the machine, or the first file at fault."""
    if refused := machine_fault(str(error), f"while reading {job.location.uri}"):
        return None if isinstance(error, Damaged) else refused
    for kind in DERIVED_KINDS:
        derived = derived_job(job, kind)
        fault = _fault(derived)
        if isinstance(fault, Damaged):
            named = replace(derived, called=f"{job.called}.{kind}" if job.called else "")
            return Damaged(fault.message, named.derived_anew(f"{job.snapshot().definition.name}.{kind}"))
    return None if isinstance(error, Damaged) else _fault(job) or _fault_of_the_past(job)


def _fault(job: ArchiveJob) -> TidewheelError | None:
    """Find what keeps an archive from being read, if anything does."""
    if not is_there(job):
        return None
    try:
        snapshot = open_snapshot(job.location)
        return faulty_file(snapshot, snapshot.files) or undecodable_file(snapshot, snapshot.files)
    except Damaged as error:
        return error


def _fault_of_the_past(job: ArchiveJob) -> Damaged | None:
    """The files at fault that the newest version does not name, of the archive and what is derived of it."""
    for one in (job, *(derived_job(job, kind) for kind in DERIVED_KINDS)):
        if faults := table_faults(one.location):
            return Damaged(
                f"{one.location.uri} has damaged files: {'; '.join(faults)}", f"see all: {one.command('audit')}"
            )
    return None
