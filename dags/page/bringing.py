"""The button that brings an archive's missing slots: it starts `<archive>__backfill` as `airflow dags trigger` does.

Who may trigger that DAG has the button, nobody else. A browser sends the reader's cookie with whatever form any site
has made, so a request must come from this one; one that brings a token of its own need not.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tidewheel.dags.page.archives_shown import missing_bounds
from tidewheel.dags.watch.known_runs import who_brings, who_brings_slot, why_not_started
from tidewheel.indexing.core.slots import iso

if TYPE_CHECKING:
    from tidewheel.pages.facts import Bring


def bring_of(name: str, user: Any, first_us: int) -> Bring:
    """Return the button that the page offers to a user if slots are missing from `first_us` on.

    There is none while a run of the schedule or a backfill brings them.
    """
    from tidewheel.pages.facts import Bring

    dag_id = _dag_id(name)
    if not _may_run(dag_id, user):
        return Bring()
    stands = who_brings(dag_id) or who_brings_slot(name, first_us) or why_not_started(dag_id)
    return Bring(not stands, stands)


def bring(path: Path, user: Any) -> dict[str, str]:
    """Start the run that brings all missing slots of an archive, and no other; which it is."""
    from airflow.api.common.trigger_dag import trigger_dag
    from airflow.utils.types import DagRunTriggeredByType
    from fastapi import HTTPException

    dag_id = _dag_id(path.stem)
    if not _may_run(dag_id, user):
        raise HTTPException(403, f"you may not trigger {dag_id}. Nothing was started")
    missing = missing_bounds(path)
    if missing is None:
        raise HTTPException(409, f"no slot of {path.stem} is missing whose batch is there. Nothing was started")
    if stands := bring_of(path.stem, user, missing[0]).said:
        raise HTTPException(409, f"{stands}. Nothing was started")
    run = trigger_dag(
        dag_id,
        triggered_by=DagRunTriggeredByType.UI,
        triggering_user_name=user.get_name(),
        conf={"start": iso(missing[0]), "end": iso(missing[1]), "missing_only": True},
    )
    assert run is not None
    return {"dag_id": dag_id, "run_id": run.run_id}


def from_here() -> Callable[..., None]:
    """A dependency of routes: the Origin, which browsers send with every form, is this server as it was asked for, or
    as Airflow's settings name it."""
    from airflow.configuration import conf
    from fastapi import Header, HTTPException

    named = urlsplit(conf.get("api", "base_url", fallback="")).netloc

    def checked(origin: str = Header(""), host: str = Header(""), authorization: str = Header("")) -> None:
        if not authorization and urlsplit(origin).netloc not in {host, named} - {""}:
            raise HTTPException(403, "this was not asked from Airflow's own page. Nothing was started")

    return checked


def _dag_id(name: str) -> str:
    return f"{name}__backfill"


def _may_run(dag_id: str, user: Any) -> bool:
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
    from airflow.models.dag import DagModel

    details = DagDetails(id=dag_id, team_name=DagModel.get_team_name(dag_id))
    return get_auth_manager().is_authorized_dag(
        method="POST", access_entity=DagAccessEntity.RUN, details=details, user=user
    )
