"""The steps that the main table's vacuum and the quarantine's share."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq

from tidewheel.commits.vacuum_report import VacuumReport
from tidewheel.indexing.errors import Damaged
from tidewheel.indexing.printable import one_line
from tidewheel.indexing.vacuum import StoredFile
from tidewheel.storage.location import Location
from tidewheel.storage.log_files import LogFiles

LOG = logging.getLogger(__name__)
DELETERS = 8


def delete(location: Location, files: Sequence[StoredFile]) -> None:
    """Delete files; those that another vacuum was quicker with are gone as well."""

    def one(file: StoredFile) -> None:
        with suppress(FileNotFoundError):
            location.filesystem.delete_file(location.child(file.path))

    with ThreadPoolExecutor(DELETERS) as deleters:
        list(deleters.map(one, files))


def delete_log(location: Location, log: LogFiles, gone: Sequence[StoredFile], report: VacuumReport, kind: str) -> None:
    """Delete files of a log once the checkpoint that takes their place has been read."""
    report.count(kind, gone)
    if report.dry_run or not gone:
        return
    going = {file.path for file in gone}
    kept = min(version for version, file in log.checkpoints.items() if file.path not in going)
    path = log.checkpoints[kept].path
    try:
        with location.filesystem.open_input_file(location.child(path)) as source:
            rows = pq.ParquetFile(source).metadata.num_rows
    except (OSError, pa.ArrowException) as error:
        raise Damaged(
            f"the checkpoint {path} cannot be read: {one_line(str(error))}. The log was not cleaned",
            "delete that checkpoint and run the command again: another one is written",
        ) from error
    LOG.debug("the log before version %s is replaced by a checkpoint of %s rows", kept, rows)
    delete(location, gone)
