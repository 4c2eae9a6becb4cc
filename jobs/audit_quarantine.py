"""What was quarantined, against the receipts that count it: readable, nothing lost, nothing doubled, for audit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pyarrow as pa
from deltalake.exceptions import DeltaError

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.quarantine import FOLDER, open_quarantine
from tidewheel.indexing.audit import Finding, Kind
from tidewheel.indexing.batches import batches_at
from tidewheel.indexing.errors import Damaged
from tidewheel.indexing.printable import one_line
from tidewheel.indexing.receipts import Operation, Receipt
from tidewheel.storage.location import SIDE_FOLDER
from tidewheel.storage.snapshot import Snapshot

PATH = f"{SIDE_FOLDER}/{FOLDER}"


def quarantine_findings(job: ArchiveJob, snapshot: Snapshot, receipts: Sequence[tuple[int, Receipt]]) -> list[Finding]:
    """Cost: the side table, read once."""
    try:
        table = open_quarantine(job.location)
        read = pa.table(table.to_pyarrow_table()) if table is not None else None
    except (Damaged, DeltaError, OSError, pa.ArrowException) as error:
        return [Finding(Kind.UNREADABLE, f"the quarantine cannot be read: {one_line(str(error))}", None, PATH)]
    there: Counter[tuple[int, str]] = Counter()
    if read is not None:
        there.update(zip(*(read.column(name).to_pylist() for name in ("slot", "attempt")), strict=True))
    kept_since_us = job.clock() - snapshot.definition.retention.quarantine_us
    axis, findings = snapshot.definition.axis, []
    for (slot, attempt), expected in _expected(receipts, snapshot.version, kept_since_us).items():
        found = there[slot, attempt]
        if found != expected:
            kind = Kind.LOST if found < expected else Kind.DOUBLED
            message = f"{found} quarantined records of slot {axis.name(slot)}, its receipt counts {expected}"
            findings.append(Finding(kind, message, None, PATH, expected, found, (slot, slot)))
    return findings


def _expected(receipts: Sequence[tuple[int, Receipt]], version: int, kept_since_us: int) -> dict[tuple[int, str], int]:
    """How many records must be there, by slot and attempt; without those that a forget or a vacuum may have taken."""
    forgotten_at = max((at for at, one in receipts if one.operation is Operation.FORGET), default=-1)
    counts = {
        (one.slot, receipt.attempt): one.quarantined
        for at, receipt in receipts
        if at > forgotten_at and receipt.committed_us > kept_since_us
        for one in receipt.slots
    }
    return {at: counts[at] for at in batches_at(dict(receipts), version).items() if counts.get(at)}
