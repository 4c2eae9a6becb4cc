"""`<archive>`: the DAG that keeps an archive on its schedule. Two tasks: `source` waits, `update` applies.

The timetable is said in full, because a bare cron text gives runs an empty data interval since Airflow 3. A run's
interval may span several slots: they become one commit. Writers are serialised by the archive's pool (give it one
slot); without a pool one run is active at a time. Either only saves work: the commit decides who was first.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk import DAG, Asset, CronDataIntervalTimetable
from airflow.sdk.definitions.callback import SyncCallback
from airflow.sdk.definitions.deadline import DeadlineAlert, DeadlineReference

from tidewheel.dags.alerts import freshness_missed
from tidewheel.dags.description import description
from tidewheel.dags.operations import confirmation_params
from tidewheel.dags.operators import RETRIES
from tidewheel.dags.source_check import SourceThere
from tidewheel.dags.updating import UpdateArchive
from tidewheel.indexing.definition import ArchiveFile
from tidewheel.indexing.slots import moment

# With a pool, runs may wait for their batches side by side; a late one does not hold up the next.
ACTIVE_RUNS_WITH_POOL = 16
_ALWAYS = datetime(2000, 1, 1, tzinfo=UTC)


def scheduled_dag(path: str, file: ArchiveFile, common: dict[str, Any]) -> DAG:
    """The schedule of one archive."""
    schedule = file.schedule
    start = None if schedule.start_us is None else moment(schedule.start_us)
    with DAG(
        file.name,
        schedule=CronDataIntervalTimetable(schedule.cron, timezone="UTC"),
        start_date=start or _ALWAYS,
        # Without a start there is no telling which missed runs are meant: they would reach back for ever.
        catchup=schedule.catchup and start is not None,
        max_active_runs=ACTIVE_RUNS_WITH_POOL if schedule.pool else 1,
        params=confirmation_params(),
        description=f"Keep the archive {file.name}: {schedule.cron}",
        doc_md=description(file, path),
        deadline=_deadline(path, file),
        default_args=RETRIES,
        **common,
    ) as dag:
        interval = timedelta(microseconds=file.axis.interval_us)
        source = SourceThere(task_id="source", archive_file=path, interval=interval)
        update = UpdateArchive(
            task_id="update",
            archive_file=path,
            outlets=[asset_of(file)],
            # Vacuum may delete the uncommitted files of an attempt that outlives grace.
            execution_timeout=timedelta(microseconds=file.retention.grace_us),
            **({"pool": schedule.pool} if schedule.pool else {}),
        )
        source >> update
    return dag


def asset_of(file: ArchiveFile) -> Asset:
    """What other DAGs are triggered by: named as the archive, with the receipt as the event's `extra`."""
    uri = file.path.replace("s3a://", "s3://", 1) if "://" in file.path else f"file://{file.path}"
    return Asset(name=file.name, uri=uri, group="tidewheel")


def _deadline(path: str, file: ArchiveFile) -> DeadlineAlert | None:
    """An alarm if a run is not done in time; queued at, because runs that catch up are late by their date."""
    if not file.schedule.freshness_us:
        return None
    return DeadlineAlert(
        reference=DeadlineReference.DAGRUN_QUEUED_AT,
        interval=timedelta(microseconds=file.schedule.freshness_us),
        callback=SyncCallback(freshness_missed, kwargs={"archive_file": path}),
        name=f"{file.name} freshness",
    )
