"""The steps that the main table's vacuum and the quarantine's share."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from tidewheel.commits.vacuum.deleted import VacuumReport
from tidewheel.indexing.rules.vacuum import StoredFile
from tidewheel.storage.location import Location
from tidewheel.storage.log_files import LogFiles

LOG = logging.getLogger(__name__)


def delete_log(
    location: Location,
    log: LogFiles,
    gone: Sequence[StoredFile],
    report: VacuumReport,
    kind: str,
    check: Callable[[StoredFile], None],
) -> None:
    """Delete files of a log once the checkpoint that takes their place has been read."""
    report.count(kind, gone)
    if report.dry_run or not gone:
        return
    going = {file.path for file in gone}
    kept = min(version for version, file in log.checkpoints.items() if file.path not in going)
    check(log.checkpoints[kept])
    LOG.debug("the log before version %s is replaced by a checkpoint", kept)
    location.delete_all(going)
