"""What Spark did for an update: its jobs, stages and tasks, and how long they took, asked after the clock stopped."""

from __future__ import annotations

from itertools import count
from typing import Any

_NUMBERS = count()


class SparkWork:
    """A group for the jobs of one update.

    with SparkWork(spark) as work:
        ...
    work.figures()
    """

    def __init__(self, spark: Any) -> None:
        self._context = spark.sparkContext
        self._group = ""

    def __enter__(self) -> SparkWork:
        self._group = f"bench-{next(_NUMBERS)}"
        self._context.setJobGroup(self._group, self._group)
        return self

    def __exit__(self, *error: object) -> None:
        self._context.setJobGroup("", "")

    def figures(self) -> dict[str, int]:
        """Jobs, stages that ran, their tasks, and the tasks' time added up."""
        tracker = self._context.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(self._group)]
        store = self._context._jsc.sc().statusStore()
        # Of stages that were skipped because their shuffle was there, Spark may keep nothing.
        known = [stage for job in jobs if job for stage in job.stageIds if tracker.getStageInfo(stage)]
        stages = [store.lastStageAttempt(stage) for stage in known]
        ran = [stage for stage in stages if stage.status().toString() == "COMPLETE"]
        return {
            "spark_jobs": len(jobs),
            "spark_stages": len(ran),
            "spark_tasks": sum(stage.numTasks() for stage in ran),
            "spark_task_ms": sum(stage.executorRunTime() for stage in ran),
            # Of stages that feed a shuffle, and of those that write; one that does both counts as the latter.
            "spark_feed_ms": sum(_milliseconds(stage) for stage in ran if stage.shuffleWriteBytes()),
            "spark_write_ms": sum(_milliseconds(stage) for stage in ran if not stage.shuffleWriteBytes()),
        }


def _milliseconds(stage: Any) -> int:
    return int(stage.completionTime().get().getTime() - stage.submissionTime().get().getTime())
