"""The task before an update: is the batch there yet? It waits without a worker slot, and without Spark.

Files have an answer that is cheap to get: their paths follow from the slots. So have topics: a slot is there when every
partition has a message after its end, or the lateness has passed. Readers and callables are asked by the update itself.
Files that may be missing (`missing = "empty"`) are never waited for.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk.bases.sensor import BaseSensorOperator

from tidewheel.dags.tasks.intervals import slots_of_run
from tidewheel.dags.tasks.operators import guarded
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
        from tidewheel.storage.batch_files import absent_batches

        def absent() -> list[str]:
            file = read_archive_file(Path(self.archive_file))
            slots = slots_of_run(context, file)
            if file.source.kind is SourceKind.TOPIC:
                return incomplete(file, slots)
            paths = absent_batches(file, slots)
            return [f"the batch of slot {file.axis.name(slot)} is not there yet: {path}" for slot, path in paths]

        waiting_for = guarded(self, self.archive_file, context, absent)
        for line in waiting_for:
            self.log.info("%s", line)
        return not waiting_for


def incomplete(file: ArchiveFile, slots: Sequence[int]) -> list[str]:
    """Return the reasons why the slots of a topic are not ready."""
    from tidewheel.commits.clock import now_us
    from tidewheel.jobs.data.topic_client import asked

    return unready(file, asked(file, slots, now_us()), slots)
