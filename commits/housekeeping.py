"""After a commit: fold receipts into the ledger and write checkpoints, on our own schedule.

None of it changes what the archive holds, so a failure here must not fail the operation that was committed.
"""

from __future__ import annotations

import logging

from deltalake.exceptions import DeltaError
from pyarrow import ArrowException

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.fail_points import reach
from tidewheel.indexing.core.state import TableState
from tidewheel.indexing.errors import TidewheelError
from tidewheel.indexing.rules.care import commits_between
from tidewheel.storage.ledger_store import fold_into_ledger

LOG = logging.getLogger(__name__)


def after_commit(job: ArchiveJob, version: int, before: TableState) -> None:
    """Every few commits, fold the receipts into the ledger and write a checkpoint, so that opening stays quick."""
    every = commits_between(len(before.files), len(before.ledger.batches))
    if version % every:
        return
    try:
        snapshot = job.table.open()
        fold_into_ledger(snapshot, every=every)
        reach("ledger_folded")
        job.table.write_checkpoint(snapshot)
        reach("checkpoint_written")
    except (TidewheelError, DeltaError, OSError, ArrowException) as error:
        LOG.warning("version %s is committed; its housekeeping failed and is tried again later: %s", version, error)
