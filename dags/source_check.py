"""The task before an update: is the batch there yet? It waits without a worker slot, and without Spark.

Only files have an answer that is cheap to get: their paths follow from the slots. Readers and callables are asked by
the update itself. A source that may be missing (`missing = "empty"`) is never waited for.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from glob import glob, has_magic
from typing import TYPE_CHECKING, Any

from airflow.sdk.bases.sensor import BaseSensorOperator
from airflow.sdk.exceptions import AirflowFailException

from tidewheel.dags.intervals import slots_of_run
from tidewheel.indexing.definition import ArchiveFile, SourceKind
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.source_paths import path_for_slot

if TYPE_CHECKING:
    from airflow.sdk import Context

POKE_MIN = timedelta(seconds=15)
POKE_MAX = timedelta(minutes=5)
# How long a batch may be late before the run fails; the freshness alarm comes earlier.
TIMEOUT = timedelta(days=1)


class SourceThere(BaseSensorOperator):
    """Wait until every slot of the run has files."""

    ui_color = "#e8f1e4"

    def __init__(self, *, archive_file: str, interval: timedelta, **kwargs: Any) -> None:
        poke = min(max(interval / 10, POKE_MIN), POKE_MAX)
        super().__init__(mode="reschedule", poke_interval=poke, timeout=TIMEOUT, **kwargs)
        self.archive_file = archive_file

    def poke(self, context: Context) -> bool:
        from tidewheel.archive import open

        archive = open(self.archive_file)
        file = archive.job.require_file()
        try:
            slots = slots_of_run(context, archive.axis)
        except InvalidInput as error:
            raise AirflowFailException(f"{error.kind}: {error}") from error
        absent = missing_paths(file, slots)
        for slot, path in absent:
            self.log.info("the batch of slot %s is not there yet: %s", file.axis.name(slot), path)
        return not absent


def missing_paths(file: ArchiveFile, slots: Sequence[int]) -> list[tuple[int, str]]:
    """The slots whose files are not there, with the paths looked at."""
    if file.source.kind is not SourceKind.FILES or file.source.missing == "empty":
        return []
    axis = file.axis
    paths = [(slot, path_for_slot(file.source.path, axis.start_us(slot), axis.end_us(slot), slot)) for slot in slots]
    return [(slot, path) for slot, path in paths if not _is_there(path)]


def _is_there(path: str) -> bool:
    """Whether a path names a file or a folder; patterns that only Hadoop reads are left to Spark."""
    remote = "://" in path
    if "{" in path or "\\" in path or (remote and has_magic(path)):
        return True
    if has_magic(path):
        return bool(glob(path))
    from tidewheel.storage.location import Location

    location = Location.of(path)
    return bool(location.filesystem.get_file_info(location.root).type)
