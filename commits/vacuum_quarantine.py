"""The quarantine's own little vacuum: records that count no more or are past their retention, then files and log.

Everything waits for grace, as in the main table; the log needs no retention of its own, nobody reads its past.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.checkpoints import write_checkpoint
from tidewheel.commits.fence import fence
from tidewheel.commits.quarantine import FOLDER, open_quarantine
from tidewheel.commits.vacuum_report import QUARANTINE, VacuumReport
from tidewheel.commits.vacuum_steps import delete, delete_log
from tidewheel.indexing.batches import batches_since
from tidewheel.indexing.vacuum import log_unneeded, unneeded
from tidewheel.storage.ledger_store import all_receipts
from tidewheel.storage.location import Location
from tidewheel.storage.log_files import list_log, removed_after
from tidewheel.storage.snapshot import Snapshot
from tidewheel.storage.stored_files import stored_files

LOG = logging.getLogger(__name__)


def sweep_quarantine(job: ArchiveJob, snapshot: Snapshot, oldest: int, now_us: int, report: VacuumReport) -> None:
    """Cost, if there is a quarantine: all receipts, three of its columns, one listing.

    Before records of an attempt that never committed go, a fence is committed: its writer may only be held up.
    """
    table = open_quarantine(job.location)
    if table is None:
        return
    retention = snapshot.definition.retention
    since_us = now_us - retention.grace_us
    receipts = list(all_receipts(snapshot))
    batches = _batches(table)
    attempts = {receipt.attempt for _, receipt in receipts}
    dead = any(newest_us <= since_us and attempt not in attempts for _, attempt, newest_us, _ in batches)
    if dead and not report.dry_run:
        fence(job)
        receipts = list(all_receipts(job.snapshot()))
    counted = batches_since(receipts, oldest)
    _delete_records(table, batches, counted, since_us, now_us - retention.quarantine_us, report)
    side = job.location.side_location(FOLDER)
    if not report.dry_run:
        table = DeltaTable(side.delta_uri, storage_options=side.storage_options)
        write_checkpoint(side, table)
    _sweep_files(side, table, since_us, report)


def _sweep_files(side: Location, table: DeltaTable, since_us: int, report: VacuumReport) -> None:
    log = list_log(side)
    oldest = log.needed_min(table.version(), since_us)
    named = set(pa.table(table.get_add_actions(flatten=True)).column("path").to_pylist())
    files = [file for file in stored_files(side) if not file.path.startswith("_delta_log/")]
    gone = unneeded(files, named | removed_after(side, log, oldest), since_us)
    report.count(QUARANTINE, gone)
    if not report.dry_run:
        delete(side, gone)
    old = log_unneeded(log.entries, log.checkpoints, needed_min=oldest, folded=None, since_us=since_us)
    delete_log(side, log, old, report, QUARANTINE)


def _batches(table: DeltaTable) -> list[tuple[int, str, int, int]]:
    """Slot and attempt of every batch that has records in quarantine, when the newest came, and how many."""
    columns = pa.table(table.to_pyarrow_table(columns=["slot", "attempt", "quarantined_at"]))
    batches = columns.group_by(["slot", "attempt"]).aggregate([("quarantined_at", "max"), ("slot", "count")])
    newest_us = pc.cast(batches.column("quarantined_at_max"), pa.int64())
    values = (batches.column("slot"), batches.column("attempt"), newest_us, batches.column("slot_count"))
    return list(zip(*(column.to_pylist() for column in values), strict=True))


def _delete_records(
    table: DeltaTable,
    batches: Sequence[tuple[int, str, int, int]],
    counted: Collection[tuple[int, str]],
    since_us: int,
    expired_us: int,
    report: VacuumReport,
) -> None:
    """Records of batches that count no more, once that is longer ago than grace, and records past their retention."""
    conditions = []
    for slot, attempt, newest_us, records in batches:
        old = newest_us <= since_us and (slot, attempt) not in counted
        if old or newest_us <= expired_us:
            text = attempt.replace("'", "''")
            conditions.append(f"(slot = {slot} and attempt = '{text}')")
            report.quarantined_records += records
    if conditions and not report.dry_run:
        try:
            table.delete(" or ".join(conditions))
        except DeltaError as error:
            # Somebody quarantined records at this moment; the next vacuum deletes these.
            LOG.warning("quarantined records were not deleted this time: %s", error)
            report.quarantined_records = 0
