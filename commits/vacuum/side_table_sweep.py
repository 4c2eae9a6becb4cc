"""The side tables' own little vacuum: rows that count no more or were kept long enough, then files and log.

Everything waits for grace, as in the main table; the log needs no retention of its own, nobody reads its past.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from functools import partial

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.checkpoints import refuse_unreadable, write_checkpoint
from tidewheel.commits.operations.fence import fence
from tidewheel.commits.side_tables.in_use import side_tables
from tidewheel.commits.side_tables.side_table import SideTable
from tidewheel.commits.vacuum.deleted import VacuumReport
from tidewheel.commits.vacuum.log_steps import delete_log
from tidewheel.indexing.core.batches import batches_since
from tidewheel.indexing.core.receipts import Receipt
from tidewheel.indexing.core.side_tables import SideBatch, unneeded_batches
from tidewheel.indexing.rules.vacuum import log_unneeded, unneeded
from tidewheel.storage.ledger_store import all_receipts
from tidewheel.storage.location import Location
from tidewheel.storage.log_files import list_log, removed_after
from tidewheel.storage.snapshot import Snapshot
from tidewheel.storage.stored_files import stored_files

LOG = logging.getLogger(__name__)


def sweep_side_tables(job: ArchiveJob, snapshot: Snapshot, oldest: int, now_us: int, report: VacuumReport) -> None:
    """Sweep the side tables. Cost, if there are any: all receipts; of each, three of its columns and one listing.

    Before rows of an attempt that never committed go, a fence is committed: its writer may only be held up.
    """
    found = {side: table for side in side_tables(job) if (table := side.open(job.location)) is not None}
    if not found:
        return
    retention = snapshot.definition.retention
    since_us = now_us - retention.grace_us
    receipts = list(all_receipts(snapshot))
    batches = {side: side.batches(table) for side, table in found.items()}
    if not report.dry_run and _has_strangers(batches.values(), receipts, since_us):
        fence(job)
        receipts = list(all_receipts(job.snapshot()))
    counting = batches_since(receipts, oldest)
    for side, table in found.items():
        kept_since_us, settled = now_us - side.kept_us(snapshot.definition), side.settled(snapshot)
        wanted = {key for key in counting if not settled(*key)}
        gone = unneeded_batches(batches[side], wanted, grace_since_us=since_us, kept_since_us=kept_since_us)
        _delete_rows(side, table, gone, report)
        _sweep_table(side, job.location, since_us, report)


def _has_strangers(
    batches: Iterable[Sequence[SideBatch]], receipts: Sequence[tuple[int, Receipt]], since_us: int
) -> bool:
    """Tell whether there are rows beyond grace of an attempt that no receipt names."""
    attempts = {receipt.attempt for _, receipt in receipts}
    return any(one.newest_us <= since_us and one.attempt not in attempts for some in batches for one in some)


def _delete_rows(side: SideTable, table: DeltaTable, gone: Sequence[SideBatch], report: VacuumReport) -> None:
    if not report.dry_run and gone:
        # Attempts are named by this program (`attempt_id.py`), without quotes.
        conditions = (f"({side.slot} = {one.slot} and {side.attempt} = '{one.attempt}')" for one in gone)
        try:
            table.delete(" or ".join(conditions))
        except DeltaError as error:
            # Somebody brought rows at this moment; the next vacuum deletes these.
            LOG.warning("rows of the %s were not deleted this time: %s", side.name, error)
            return
    report.side_rows[side.name] = sum(one.rows for one in gone)


def _sweep_table(side: SideTable, archive: Location, since_us: int, report: VacuumReport) -> None:
    place, table = side.location(archive), side.open(archive)
    if table is None:
        return
    if not report.dry_run:
        write_checkpoint(place, table)
    log = list_log(place)
    oldest = log.needed_min(table.version(), since_us)
    named = set(pa.table(table.get_add_actions(flatten=True)).column("path").to_pylist())
    files = [file for file in stored_files(place) if not file.path.startswith("_delta_log/")]
    gone = unneeded(files, named | removed_after(place, log, oldest), since_us)
    report.count(side.name, gone)
    if not report.dry_run:
        place.delete_all(file.path for file in gone)
    old = log_unneeded(log.entries, log.checkpoints, needed_min=oldest, folded=None, since_us=since_us)
    delete_log(place, log, old, report, side.name, partial(refuse_unreadable, place))
