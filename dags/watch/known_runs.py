"""Airflow's knowledge of an archive's runs: the fate of the run that should have brought a slot, and backfills.

Asked inside requests of the operator page, of Airflow's own tables. The page says what it knows of an archive also when
Airflow does not answer: then this says nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from tidewheel.indexing.core.slots import moment

LOG = logging.getLogger(__name__)
# States of tasks by what they tell of a run that is not over, the most telling first.
_UNDER_WAY = {
    "up_for_retry": "will be retried: {task} failed",
    "up_for_reschedule": "waits in {task}",
    "deferred": "waits in {task}",
    "running": "is at {task} now",
}

_NO_RUN = "no run was made for it"


def became_of_run(dag_id: str, at_us: int) -> str:
    """Tell what became of the run that should have brought the slot of a moment."""
    return _asked(lambda session: _became(dag_id, at_us, session))


def who_brings(dag_id: str) -> str:
    """Name the run of a DAG that is under way or in line."""
    said = _asked(lambda session: _under_way(dag_id, session))
    return f"{said}, of {dag_id}" if said else ""


def who_brings_slot(dag_id: str, at_us: int) -> str:
    """Name the run of a schedule that is under way or in line and covers the slot of a moment."""
    return _asked(lambda session: _bringing(dag_id, at_us, session))


def why_not_started(dag_id: str) -> str:
    """Tell why a DAG cannot be started: Airflow does not know it, or it is paused."""
    return _asked(lambda session: _not_started(dag_id, session))


def pause_said(dag_id: str) -> str:
    """Tell that a DAG is paused; nothing if it is not, or if Airflow does not know it."""
    return _asked(lambda session: _paused(dag_id, session))


def not_begun(dag_id: str) -> str:
    """Tell why no run of a DAG has brought anything yet; nothing if one has."""
    return _asked(lambda session: _not_begun(dag_id, session))


def run_said(run_id: str, state: str, tasks: Mapping[str, str]) -> str:
    """A run by its state and those of its tasks.

    >>> run_said("scheduled__1", "failed", {"source": "success", "update": "failed", "refresh": "upstream_failed"})
    'run scheduled__1 failed in update'
    >>> run_said("scheduled__2", "running", {"source": "up_for_reschedule", "update": "None"})
    'run scheduled__2 waits in source'
    >>> run_said("scheduled__3", "queued", {})
    'run scheduled__3 is queued'
    """
    if state == "failed":
        failed = [task for task, one in tasks.items() if one == "failed"]
        return f"run {run_id} failed" + (f" in {failed[0]}" if failed else "")
    if state == "success":
        return f"run {run_id} was a success"
    for one, said in _UNDER_WAY.items():
        if found := [task for task, task_state in tasks.items() if task_state == one]:
            return f"run {run_id} {said.format(task=found[0])}"
    return f"run {run_id} is {state}"


def _became(dag_id: str, at_us: int, session: Any) -> str:
    if (run := _covering(dag_id, at_us, session)) is not None:
        return _said(run, session)
    before = _under_way(dag_id, session)
    return _not_started(dag_id, session) or (f"{before}; no later run was made yet" if before else _NO_RUN)


def _covering(dag_id: str, at_us: int, session: Any) -> Any:
    """The newest run over the slot of a moment."""
    from airflow.models.dagrun import DagRun
    from sqlalchemy import select

    at = moment(at_us)
    covering = (DagRun.dag_id == dag_id, DagRun.data_interval_start <= at, DagRun.data_interval_end > at)
    return session.scalars(select(DagRun).where(*covering).order_by(DagRun.run_after.desc()).limit(1)).first()


def _bringing(dag_id: str, at_us: int, session: Any) -> str:
    run = _covering(dag_id, at_us, session)
    return _said(run, session) if run is not None and str(run.state) in ("running", "queued") else ""


def _not_begun(dag_id: str, session: Any) -> str:
    """An archive without a schedule has no DAG of its own name, and one that brings what somebody asks for."""
    from airflow.models.dag import DagModel
    from airflow.models.dagrun import DagRun
    from sqlalchemy import select

    ours = (dag_id, f"{dag_id}__backfill")
    brought = select(DagRun.id).where(DagRun.dag_id.in_(ours), DagRun.state == "success").limit(1)
    if session.scalar(brought) is not None:
        return ""
    if session.get(DagModel, dag_id) is None:
        return "it has no schedule" if session.get(DagModel, ours[1]) is not None else ""
    return _not_started(dag_id, session) or _under_way(dag_id, session) or "no run of it was a success yet"


def _under_way(dag_id: str, session: Any) -> str:
    from airflow.models.dagrun import DagRun
    from sqlalchemy import select

    active = (DagRun.dag_id == dag_id, DagRun.state.in_(("running", "queued")))
    run = session.scalars(select(DagRun).where(*active).order_by(DagRun.run_after).limit(1)).first()
    return "" if run is None else _said(run, session)


def _said(run: Any, session: Any) -> str:
    from airflow.models.taskinstance import TaskInstance
    from sqlalchemy import select

    asked = select(TaskInstance.task_id, TaskInstance.state)
    tasks = session.execute(asked.where(TaskInstance.dag_id == run.dag_id, TaskInstance.run_id == run.run_id))
    return run_said(run.run_id, str(run.state), {task: str(state) for task, state in tasks})


def _not_started(dag_id: str, session: Any) -> str:
    from airflow.models.dag import DagModel

    dag = session.get(DagModel, dag_id)
    if dag is None or dag.is_stale:
        return f"Airflow has no DAG {dag_id}"
    return _paused(dag_id, session)


def _paused(dag_id: str, session: Any) -> str:
    from airflow.models.dag import DagModel

    dag = session.get(DagModel, dag_id)
    return f"the DAG {dag_id} is paused" if dag is not None and not dag.is_stale and dag.is_paused else ""


def _asked(question: Callable[[Any], str]) -> str:
    from airflow.utils.session import create_session

    try:
        with create_session(scoped=False) as session:
            return question(session)
    except Exception:
        LOG.warning("Airflow's database did not tell of its runs", exc_info=True)
        return ""
