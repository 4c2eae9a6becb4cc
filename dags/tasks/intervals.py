"""From a run's data interval to slots; a run without one is refused with the command that works."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidewheel.dags.watch.timetable import ArchiveTimetable
from tidewheel.indexing.core.definition import ArchiveFile
from tidewheel.indexing.core.slots import TimeAxis, iso, micros
from tidewheel.indexing.errors import InvalidInput

if TYPE_CHECKING:
    from airflow.sdk import Context
    from airflow.sdk.types import DagRunProtocol as DagRun


def slots_of_run(context: Context, file: ArchiveFile) -> range:
    """The slots of the run's data interval, which must begin and end where slots do."""
    run, axis = context["dag_run"], file.axis
    start, end = run.data_interval_start, run.data_interval_end
    if start is None or end is None or start == end:
        raise InvalidInput(
            f"run {run.run_id} has no data interval, so nothing says which slots it should bring. Nothing was changed",
            _newest_interval(run, file),
        )
    _not_before_the_start(run, file)
    try:
        return axis.slots_between(micros(start), micros(end))
    except InvalidInput as error:
        raise InvalidInput(
            f"the data interval {iso(micros(start))} to {iso(micros(end))} of run {run.run_id} does not hold "
            f"whole slots: {error.message}. Nothing was changed",
            "correct [schedule] cron or [time] epoch in the archive file; for this once, name slots: "
            + _range(run.dag_id, *_bounds_us(axis, micros(start))),
        ) from error


def _not_before_the_start(run: DagRun, file: ArchiveFile) -> None:
    """Only a backfill goes further back than the schedule: a single date is more likely a slip of the pen."""
    since_us, axis = file.schedule.start_us, file.axis
    moments = [one for one in (run.logical_date, run.data_interval_start) if one is not None]
    if since_us is None or run.run_type == "backfill" or micros(min(moments)) >= since_us:
        return
    date_us = micros(min(moments))
    # Not a backfill of that date: it would run this run again, and Airflow may have given it another interval.
    raise InvalidInput(
        f"run {run.run_id} is for {iso(date_us)}, before [schedule] start, {iso(since_us)}. Nothing was changed",
        "correct the date; if older data is meant, name its slots: " + _range(run.dag_id, *_bounds_us(axis, date_us)),
    )


def backfill_command(dag_id: str, first: str, last: str, conf: str = "") -> str:
    """The command that runs some intervals again; both ends are interval starts, and both are included."""
    command = f"airflow backfill create --dag-id {dag_id} --from-date {first} --to-date {last}"
    command += " --reprocess-behavior completed"
    return f"{command} --dag-run-conf '{conf}'" if conf else command


def _newest_interval(run: DagRun, file: ArchiveFile) -> str:
    start_us, end_us = ArchiveTimetable(file.schedule.cron, None).newest_due_us(micros(run.run_after))
    return (
        "name an interval of the schedule by its start, for example: "
        f"{backfill_command(run.dag_id, iso(start_us), iso(start_us))}\n  "
        f"or name slots: {_range(run.dag_id, start_us, end_us)}"
    )


def _range(dag_id: str, start_us: int, end_us: int) -> str:
    return f'airflow dags trigger {dag_id}__backfill --conf \'{{"start": "{iso(start_us)}", "end": "{iso(end_us)}"}}\''


def _bounds_us(axis: TimeAxis, at_us: int) -> tuple[int, int]:
    slot = axis.slot_of(at_us)
    return axis.start_us(slot), axis.end_us(slot)
