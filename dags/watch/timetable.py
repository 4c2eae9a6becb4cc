"""When an archive's runs are due: a cron text and the moment at which the schedule begins.

Airflow gives a run for a date before its DAG's start no tasks at all, and calls it a success. So the DAG's own start
lies before every date, and the schedule's start is kept here: runs are made from it, and a run for an earlier date is
refused with the reason, by Airflow's API before it exists and by its first task otherwise. Backfills name their own
dates and may go back further.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from airflow.sdk.timezone import coerce_datetime
from airflow.timetables.base import DagRunInfo, DataInterval, TimeRestriction
from airflow.timetables.interval import CronDataIntervalTimetable

from tidewheel.indexing.core.slots import iso, micros, moment

# The start date of an archive's DAG.
ALWAYS = datetime(1900, 1, 1, tzinfo=UTC)


class ArchiveTimetable(CronDataIntervalTimetable):
    """Runs over the intervals between the moments of a cron text, in UTC, from `start_us` on."""

    def __init__(self, cron: str, start_us: int | None) -> None:
        super().__init__(cron, timezone="UTC")
        self.cron = cron
        self.start_us = start_us

    def serialize(self) -> dict[str, Any]:
        return {"cron": self.cron, "start_us": self.start_us}

    @classmethod
    def deserialize(cls, data: dict[str, Any]) -> ArchiveTimetable:
        return cls(data["cron"], data["start_us"])

    def next_dagrun_info(
        self, *, last_automated_data_interval: DataInterval | None, restriction: TimeRestriction
    ) -> DagRunInfo | None:
        # The scheduler asks from the DAG's start date, a backfill from its own first date.
        scheduled = restriction.earliest is not None and restriction.earliest <= ALWAYS
        if scheduled and self.start_us is not None:
            restriction = restriction._replace(earliest=coerce_datetime(moment(self.start_us)))
        return super().next_dagrun_info(
            last_automated_data_interval=last_automated_data_interval, restriction=restriction
        )

    def infer_manual_data_interval(self, *, run_after: datetime) -> DataInterval:
        interval = super().infer_manual_data_interval(run_after=coerce_datetime(run_after))
        if self.start_us is not None and _micros(interval.start) < self.start_us:
            raise ValueError(
                f"a run for {run_after.isoformat()} would bring {iso(_micros(interval.start))} to "
                f"{iso(_micros(interval.end))}, which begins before [schedule] start, {iso(self.start_us)}. "
                "Nothing was changed. For older data, create a backfill"
            )
        return interval

    def newest_due_us(self, now_us: int) -> tuple[int, int]:
        """The interval of the newest run that is due by then."""
        interval = super().infer_manual_data_interval(run_after=coerce_datetime(moment(now_us)))
        return _micros(interval.start), _micros(interval.end)


def _micros(at: datetime) -> int:
    # Airflow's own moments are of a kind that cannot be divided.
    return micros(datetime.fromisoformat(at.isoformat()))
