"""The order of waiting runs: the schedule first, then everything that repeats or looks back.

Airflow serves tasks of equal weight by their date, oldest first, so a backfill would hold up the schedule until it is
done. The weight is decided when a task of a run is created, and anew when it is cleared: only what the schedule brings
for the first time is ahead, which puts a backfill that runs old intervals again behind it too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.task.priority_strategy import PriorityWeightStrategy

if TYPE_CHECKING:
    from airflow.models.taskinstance import TaskInstance

SCHEDULED = 10
LOOKING_BACK = 1
# What an operator starts by hand on the archive as a whole.
BY_HAND = 20


class ScheduleFirst(PriorityWeightStrategy):
    """The schedule's own runs before those of backfills, and before runs that come again."""

    def get_weight(self, ti: TaskInstance) -> int:
        first_time = ti.run_id.startswith("scheduled__") and not ti.try_number
        return SCHEDULED if first_time else LOOKING_BACK


RULE = f"{ScheduleFirst.__module__}.{ScheduleFirst.__qualname__}"
