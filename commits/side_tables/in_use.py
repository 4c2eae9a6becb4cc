"""All side tables of an archive: records that broke a rule, and records that came and were dead by then."""

from __future__ import annotations

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.side_tables.quarantine import QUARANTINE
from tidewheel.commits.side_tables.side_table import SideTable
from tidewheel.commits.side_tables.unstored import UNSTORED_TABLE
from tidewheel.commits.written import Written


def side_tables(job: ArchiveJob) -> tuple[SideTable, ...]:
    return job.given_side_tables or (QUARANTINE, UNSTORED_TABLE)


def store_aside(job: ArchiveJob, written: Written, attempt: str) -> bool:
    """Move an attempt's records into its side tables; tell whether there were any."""
    stored = [side.store(job, written, attempt) for side in side_tables(job)]
    return any(stored)


def discard_aside(job: ArchiveJob, attempt: str) -> None:
    """Remove the records that earlier tries of an attempt moved there."""
    for side in side_tables(job):
        side.discard(job, attempt)


def filled_tables(job: ArchiveJob) -> list[SideTable]:
    """Return the side tables that hold any row. Cost: a read of their logs."""
    tables = ((side, side.open(job.location)) for side in side_tables(job))
    return [side for side, table in tables if table is not None and table.to_pyarrow_dataset().count_rows()]
