"""When a run of an archive that promises freshness is late, and who is called then.

Late is counted from when a run was made, because runs that catch up are late by their date. Airflow has a reference
of that kind, but cannot clear a run that uses it (apache/airflow#70368: 3.3 sets the deadline anew and reads its
interval wrongly), so this is one of our own. A run that comes again keeps its first deadline; the alarm looks at the
archive itself before it says anything.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from airflow.sdk.definitions.callback import SyncCallback
from airflow.sdk.definitions.deadline import BaseDeadlineReference, DeadlineAlert
from airflow.sdk.timezone import utcnow

from tidewheel.dags.watch.alerts import freshness_missed
from tidewheel.indexing.core.definition import ArchiveFile


class RunMade(BaseDeadlineReference):
    """The moment at which a run was made."""

    def _evaluate_with(self, *, session: Any, **of_run: Any) -> datetime:
        # Airflow asks while it makes the run.
        return utcnow()


def freshness_deadline(path: str, file: ArchiveFile) -> DeadlineAlert | None:
    """The alarm of an archive, if it has one."""
    if not file.schedule.freshness_us:
        return None
    return DeadlineAlert(
        reference=RunMade(),
        interval=timedelta(microseconds=file.schedule.freshness_us),
        callback=SyncCallback(freshness_missed, kwargs={"archive_file": path}),
        name=f"{file.name} freshness",
    )
