"""`<archive>`: the DAG that keeps an archive on its schedule. `source` waits, `update` applies; `refresh` answers.

A run's interval may span several slots: they become one commit. Runs are serialised by the archive's pool (give it
one slot); without a pool one run is active at a time. Either only saves work: the commit decides who was first. In the
pool's queue the schedule goes before backfills (priority.py).
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import DAG

from tidewheel.dags.build.archive_text import description
from tidewheel.dags.build.priority import RULE
from tidewheel.dags.tasks.assets import archive_assets
from tidewheel.dags.tasks.operators import RETRIES
from tidewheel.dags.tasks.refreshing import refresh_behind
from tidewheel.dags.tasks.run_forms import confirmation_params
from tidewheel.dags.tasks.source_check import SourceThere
from tidewheel.dags.tasks.updating import UpdateArchive
from tidewheel.dags.watch.deadlines import freshness_deadline
from tidewheel.dags.watch.timetable import ALWAYS, ArchiveTimetable
from tidewheel.indexing.core.definition import ArchiveFile

# With a pool, runs may wait for their batches side by side; a late one does not hold up the next.
ACTIVE_RUNS_WITH_POOL = 16


def scheduled_dag(path: str, file: ArchiveFile, common: dict[str, Any]) -> DAG:
    """The schedule of one archive."""
    schedule = file.schedule
    with DAG(
        file.name,
        schedule=ArchiveTimetable(schedule.cron, schedule.start_us),
        start_date=ALWAYS,
        # Without a start there is no telling which missed runs are meant: they would reach back for ever.
        catchup=schedule.catchup and schedule.start_us is not None,
        max_active_runs=ACTIVE_RUNS_WITH_POOL if schedule.pool else 1,
        params=confirmation_params(),
        description=f"Keep the archive {file.name}: {schedule.cron}",
        doc_md=description(file, path),
        deadline=freshness_deadline(path, file),
        default_args={**RETRIES, "weight_rule": RULE},
        **common,
    ) as dag:
        interval = timedelta(microseconds=file.axis.interval_us)
        source = SourceThere(task_id="source", archive_file=path, interval=interval)
        update = UpdateArchive(
            task_id="update",
            archive_file=path,
            # Vacuum may delete the uncommitted files of an attempt that outlives grace.
            execution_timeout=timedelta(microseconds=file.retention.grace_us),
            **archive_assets(file),
            **({"pool": schedule.pool} if schedule.pool else {}),
        )
        source >> update
        refresh_behind([update], path, file)
    return dag
