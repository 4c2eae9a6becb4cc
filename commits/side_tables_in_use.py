"""All side tables of an archive: the quarantine, which every one has, and those that its job brings along."""

from __future__ import annotations

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.quarantine import QUARANTINE
from tidewheel.commits.side_tables import SideTable
from tidewheel.commits.written import Written


def side_tables(job: ArchiveJob) -> tuple[SideTable, ...]:
    return (job.given_quarantine or QUARANTINE, *job.side_tables)


def store_aside(job: ArchiveJob, written: Written, attempt: str) -> bool:
    """Move what an attempt wrote aside into its side tables; whether there was something."""
    stored = [side.store(job, written, attempt) for side in side_tables(job)]
    return any(stored)


def discard_aside(job: ArchiveJob, attempt: str) -> None:
    """Take back what earlier tries of an attempt moved there."""
    for side in side_tables(job):
        side.discard(job, attempt)


def anything_aside(job: ArchiveJob) -> bool:
    """Whether a side table holds any row. Cost: what their logs tell."""
    tables = (side.open(job.location) for side in side_tables(job))
    return any(table is not None and table.to_pyarrow_dataset().count_rows() for table in tables)
