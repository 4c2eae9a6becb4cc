"""The task before an update: is the batch there yet? It waits without a worker slot, and without Spark.

Files have an answer that is cheap to get: their paths follow from the slots. So have topics: a slot is there when every
partition has a message after its end, or the lateness has passed. Readers and callables are asked by the update itself.
Files that may be missing (`missing = "empty"`) are never waited for.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk.bases.sensor import BaseSensorOperator

from tidewheel.dags.intervals import slots_of_run
from tidewheel.dags.operators import guarded
from tidewheel.indexing.archive_file.source_paths import path_for_slot
from tidewheel.indexing.core.definition import ArchiveFile, SourceKind
from tidewheel.indexing.core.topics import unready

if TYPE_CHECKING:
    from airflow.sdk import Context

POKE_MIN = timedelta(seconds=15)
POKE_MAX = timedelta(minutes=5)
# How long a batch may be late before the run fails; the freshness alarm comes earlier.
TIMEOUT = timedelta(days=1)


class SourceThere(BaseSensorOperator):
    """Wait until every slot of the run is complete in its source."""

    ui_color = "#e8f1e4"

    def __init__(self, *, archive_file: str, interval: timedelta, **kwargs: Any) -> None:
        poke = min(max(interval / 10, POKE_MIN), POKE_MAX)
        super().__init__(mode="reschedule", poke_interval=poke, timeout=TIMEOUT, **kwargs)
        self.archive_file = archive_file

    def poke(self, context: Context) -> bool:
        from tidewheel.resolve import read_archive_file

        def absent() -> list[str]:
            file = read_archive_file(Path(self.archive_file))
            slots = slots_of_run(context, file)
            if file.source.kind is SourceKind.TOPIC:
                return incomplete(file, slots)
            paths = missing_paths(file, slots)
            return [f"the batch of slot {file.axis.name(slot)} is not there yet: {path}" for slot, path in paths]

        waiting_for = guarded(self, self.archive_file, context, absent)
        for line in waiting_for:
            self.log.info("%s", line)
        return not waiting_for


def incomplete(file: ArchiveFile, slots: Sequence[int]) -> list[str]:
    """What the slots of a topic still wait for."""
    from tidewheel.commits.clock import now_us
    from tidewheel.jobs.data.topic_client import asked

    return unready(file, asked(file, slots, now_us()), slots)


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
