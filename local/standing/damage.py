"""What fails because partials or answers cannot be read: the file at fault, and the command that derives them again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pyarrow as pa

from tidewheel.commits.archive import ArchiveJob
from tidewheel.indexing.core.definition import DERIVED_KINDS
from tidewheel.indexing.errors import Damaged, TidewheelError
from tidewheel.local.standing.derivation import derived_job, is_there
from tidewheel.sql.file_faults import faulty_file, undecodable_file
from tidewheel.storage.machine import machine_fault
from tidewheel.storage.snapshot import open_snapshot


@contextmanager
def damage_named(job: ArchiveJob) -> Iterator[None]:
    """Around what reads the partials and answers of an archive. Cost: nothing, and if it fails, all their files."""
    try:
        yield
    except (Damaged, OSError, pa.ArrowException) as error:
        if machine_fault(str(error), "") is None:
            for kind in DERIVED_KINDS:
                _refuse_damaged(job, kind, error)
        raise


def _refuse_damaged(job: ArchiveJob, kind: str, error: Exception) -> None:
    derived = derived_job(job, kind)
    fault = _fault(derived)
    if isinstance(fault, Damaged):
        named = replace(derived, called=f"{job.called}.{kind}" if job.called else "")
        raise Damaged(fault.message, named.derived_anew(f"{job.snapshot().definition.name}.{kind}")) from error


def _fault(job: ArchiveJob) -> TidewheelError | None:
    """What keeps an archive from being read, if anything does."""
    if not is_there(job):
        return None
    try:
        snapshot = open_snapshot(job.location)
        return faulty_file(snapshot, snapshot.files) or undecodable_file(snapshot, snapshot.files)
    except Damaged as error:
        return error
