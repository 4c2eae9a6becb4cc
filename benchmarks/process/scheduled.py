"""Where the time of a scheduled update goes: a real Airflow on SQLite, a small archive, some runs caught up.

python -m benchmarks.process.scheduled              the fixed part: 120 records a run
python -m benchmarks.process.scheduled --cold       the same without what makes Spark start quickly

latency   the scheduler: from the moment a run (or its next task) could start until it does
source    the task that looks whether the batch is there
process   Airflow's process of the update, until the archive is opened, and from its end on
session   Java and Spark starting
work      reading the source, writing and checking files
commit    the commit, and the housekeeping after it
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.archives.described_archive import DescribedArchive
from scripts.native_services import free_port
from tidewheel.jobs.process import quick_start
from tidewheel.playground import class_archive
from tidewheel.playground.airflow import EmbeddedAirflow

PARTS = ("latency", "source", "process", "session", "work", "commit")
_TASKS = """
select r.queued_at, s.start_date, s.end_date, u.start_date, u.end_date, x.value
from dag_run r
join task_instance s on s.dag_id = r.dag_id and s.run_id = r.run_id and s.task_id = 'source'
join task_instance u on u.dag_id = r.dag_id and u.run_id = r.run_id and u.task_id = 'update'
join xcom x on x.dag_id = r.dag_id and x.run_id = r.run_id and x.task_id = 'update' and x.key = 'return_value'
where r.dag_id = 'tide' and r.state = 'success' order by r.logical_date
"""
# From the first start of a task to the last end, in seconds.
_SPAN = """
select (julianday(max(end_date)) - julianday(min(start_date))) * 86400 from task_instance where dag_id = '{dag}'
and state = 'success'
"""
_DONE = "select 1 from dag_run where dag_id = 'tide__backfill' and state = 'success'"
Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Run:
    """Seconds of one run, by part."""

    seconds: dict[str, float]

    @property
    def total(self) -> float:
        return sum(self.seconds.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=4, help="runs to measure, or slots to compare")
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--backfill", action="store_true")
    given = parser.parse_args()
    settings = {"AIRFLOW__CORE__PARALLELISM": "1", "SPARK_DRIVER_MEMORY": "700m"}
    if given.cold:
        settings[quick_start.VARIABLE] = "off"
    else:
        class_archive.make_class_archive()
    with tempfile.TemporaryDirectory() as folder:
        measure = compared if given.backfill else parts
        sys.stdout.write(measure(DescribedArchive(Path(folder)), given.runs, settings) + "\n")


def parts(archive: DescribedArchive, count: int, settings: dict[str, str]) -> str:
    """Medians over some runs that are caught up one after the other."""
    _prepare(archive, _hour() - timedelta(hours=count), "0 * * * *", 3 * count)
    with running(archive, settings) as airflow:
        rows = _until(airflow, lambda: _rows(airflow, _TASKS), count)
    # The first run also creates the table.
    return table([_run(row) for row in rows[1:]])


def compared(archive: DescribedArchive, count: int, settings: dict[str, str]) -> str:
    """The same slots as one run each, and as one range."""
    now = _hour()
    start = _prepare(archive, now - timedelta(minutes=20 * count), "*/20 * * * *", count)
    with running(archive, settings) as airflow:
        _until(airflow, lambda: _rows(airflow, _TASKS), count)
        [(single,)] = _rows(airflow, _SPAN.format(dag="tide"))
        conf = {"start": f"{start:%Y-%m-%dT%H:%M:%SZ}", "end": f"{now:%Y-%m-%dT%H:%M:%SZ}", "slots_per_commit": count}
        airflow.airflow("dags", "trigger", "tide__backfill", "--conf", json.dumps(conf))
        _until(airflow, lambda: _rows(airflow, _DONE), 1)
        [(ranged,)] = _rows(airflow, _SPAN.format(dag="tide__backfill"))
    return (
        f"{count} slots: one run each {single:.1f} s, one range {ranged:.1f} s, "
        f"{single / ranged:.1f} times as fast ({(single - ranged) / (count - 1):.1f} s saved by each further slot)"
    )


@contextmanager
def running(archive: DescribedArchive, settings: dict[str, str]) -> Iterator[EmbeddedAirflow]:
    """A real Airflow that keeps the archive."""
    home = archive.folder / "airflow"
    airflow = EmbeddedAirflow(home, [archive.path.parent], port=free_port(), settings=settings)
    airflow.prepare()
    try:
        airflow.start()
        yield airflow
    finally:
        airflow.stop()


def _prepare(archive: DescribedArchive, start: datetime, cron: str, slots: int) -> datetime:
    archive.write_file(f"start = {start:%Y-%m-%dT%H:%M:%SZ}", cron=cron)
    first = archive.axis.slot_of(int(start.timestamp()) * 1_000_000)
    archive.write_batches(range(first, first + slots + 6))
    return start


def _hour() -> datetime:
    return datetime.now(UTC).replace(minute=0, second=0, microsecond=0)


def _until(airflow: EmbeddedAirflow, rows: Callable[[], Rows], count: int) -> Rows:
    while len(found := rows()) < count:
        airflow.check()
        time.sleep(0.5)
    return found[:count]


def table(runs: list[Run]) -> str:
    """Medians, a part a column."""
    values = [*(median(run.seconds[part] for run in runs) for part in PARTS), median(run.total for run in runs)]
    head = " ".join(f"{name:>8}" for name in (*PARTS, "total"))
    return f"{head}\n" + " ".join(f"{value:8.2f}" for value in values) + f"   seconds, median of {len(runs)} runs"


def _run(row: tuple[Any, ...]) -> Run:
    *moments, value = row
    queued, source_start, source_end, start, end = (_seconds(one) for one in moments)
    receipt = json.loads(value)
    spent = {step: ms / 1000 for step, ms in receipt["timings_ms"].items()}
    committed, ended = _seconds(receipt["committed"]), _seconds(receipt["ended"])
    session = spent.pop("session", 0.0)
    work = sum(spent.values())
    before = committed - work - session
    return Run(
        {
            "latency": source_start - queued + start - source_end,
            "source": source_end - source_start,
            "process": before - start + end - ended,
            "session": session,
            "work": work,
            "commit": ended - committed,
        }
    )


def _rows(airflow: EmbeddedAirflow, query: str) -> Rows:
    with closing(sqlite3.connect(f"file:{airflow.database}?mode=ro", uri=True, timeout=30)) as connection:
        return connection.execute(query).fetchall()


def _seconds(text: str) -> float:
    at = datetime.fromisoformat(text)
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


if __name__ == "__main__":
    main()
