"""Side tables against the receipts that count their rows: readable, nothing lost, nothing doubled, for audit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from deltalake.exceptions import DeltaError
from pyarrow import ArrowException

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.side_tables.in_use import side_tables
from tidewheel.commits.side_tables.side_table import SideTable
from tidewheel.indexing.core.receipts import Receipt
from tidewheel.indexing.core.side_tables import expected_rows
from tidewheel.indexing.errors import Damaged
from tidewheel.indexing.printable import one_line
from tidewheel.indexing.rules.findings import Finding, Flaw
from tidewheel.storage.address import SIDE_FOLDER
from tidewheel.storage.ledger_store import all_receipts
from tidewheel.storage.snapshot import Snapshot


def side_table_findings(job: ArchiveJob, snapshot: Snapshot, receipts: Sequence[tuple[int, Receipt]]) -> list[Finding]:
    """Compare the side tables with their receipts. Cost: the side tables, read once.

    Side tables have no versions: if a commit landed meanwhile, they are compared with the newest receipts instead.
    """
    findings = [finding for side in side_tables(job) for finding in _findings(job, side, snapshot, receipts)]
    newest = snapshot.newest() if findings else snapshot
    if newest.version == snapshot.version:
        return findings
    told = list(all_receipts(newest))
    return [finding for side in side_tables(job) for finding in _findings(job, side, newest, told)]


def _findings(
    job: ArchiveJob, side: SideTable, snapshot: Snapshot, receipts: Sequence[tuple[int, Receipt]]
) -> list[Finding]:
    path = f"{SIDE_FOLDER}/{side.name}"
    try:
        rows = side.read(job.location)
    except (Damaged, DeltaError, OSError, ArrowException) as error:
        said = f"the {side.name} cannot be read: {one_line(str(error))}"
        said = error.message if isinstance(error, Damaged) else said
        return [Finding(Flaw.UNREADABLE, said, None, path)]
    there: Counter[tuple[int, str]] = Counter()
    if rows is not None:
        there.update(side.keys(rows))
    kept_since_us = job.clock() - side.certain_us(snapshot.definition)
    expected = expected_rows(receipts, snapshot.version, kept_since_us, side.counted, stays=bool(side.filled))
    findings = []
    for (slot, attempt), rows_expected in expected.items():
        found = there[slot, attempt]
        if found != rows_expected:
            kind = Flaw.LOST if found < rows_expected else Flaw.DOUBLED
            name = snapshot.definition.axis.name(slot)
            message = f"{found} records of slot {name} in the {side.name}, its receipt counts {rows_expected}"
            findings.append(Finding(kind, message, None, path, rows_expected, found, (slot, slot)))
    return findings
