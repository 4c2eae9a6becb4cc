"""A commit that names the columns with statistics (`storage/statistics_columns.py`), if the table does not yet.

Archives of earlier programs get it with their next operation or vacuum. An operation that brings a column with fields
of its own, or files without statistics of a key, makes it first: no version may promise bounds that are not there.
"""

from __future__ import annotations

from collections.abc import Sequence

from deltalake import Field

from tidewheel.commits.accounting import bare_receipt
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.commit import commit_properties
from tidewheel.indexing.core.receipts import Deed
from tidewheel.storage.entry import NewFile
from tidewheel.storage.ledger_store import state_of
from tidewheel.storage.snapshot import Snapshot
from tidewheel.storage.statistics_columns import PROPERTY


def state_statistics(
    job: ArchiveJob, snapshot: Snapshot, attempt: str, new: Sequence[Field] = (), files: Sequence[NewFile] = ()
) -> bool:
    """Make the table name them, if it does not; tell whether there was a commit, which outdates every plan."""
    value = job.table.statistics_to_state(snapshot, new, files)
    if value is None:
        return False
    job.progress("naming the columns that have statistics, for other readers")
    # A fence, as far as the archive goes: nothing that it holds changes.
    receipt = bare_receipt(job, state_of(snapshot), Deed.FENCE, attempt, "names the columns that have statistics")
    commit_properties(snapshot, receipt, {PROPERTY: value})
    return True
