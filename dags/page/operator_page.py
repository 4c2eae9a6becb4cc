"""The operator page under Airflow's own address: `/tidewheel/`, and the same as JSON below `/tidewheel/api/`.

Every process of Airflow loads the plugin, and only the api-server serves it: so the application is made when the
first request comes, and archives are opened inside requests, never before a fork. Who may read the DAG
`<archive>__maintenance` may see the archive, its answers included; who may trigger `<archive>__backfill` may bring its
missing slots (bringing.py).
"""

from __future__ import annotations

import json
from collections.abc import MutableMapping
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from tidewheel.dags.page.looks import Looks
    from tidewheel.pages.facts import Detail, Overview

PREFIX = "/tidewheel"
_BUNDLE = "tidewheel.dags.build.bundle.ArchivesBundle"


class OperatorPage:
    """An ASGI application that makes the real one at its first request."""

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        await self._app(scope, receive, send)

    @cached_property
    def _app(self) -> Any:
        return operator_app()


def operator_app() -> Any:
    """The FastAPI application; it describes itself to nobody, for that would need no login."""
    from airflow.api_fastapi.core_api.security import get_user
    from airflow.api_fastapi.logging.decorators import action_logging
    from fastapi import Depends, FastAPI, HTTPException, Request
    from fastapi.exception_handlers import http_exception_handler
    from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse

    from tidewheel.dags.page.bringing import bring, from_here
    from tidewheel.pages.detail import detail_page
    from tidewheel.pages.overview import overview_page
    from tidewheel.pages.shell import HEADERS

    app = FastAPI(title="tidewheel", openapi_url=None, docs_url=None, redoc_url=None)
    somebody = Depends(get_user)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Any:
        """Lead a reader who is not logged in to the login, and back; programs are told."""
        path = request.url.path.removeprefix(str(request.scope.get("root_path", "")))
        is_page = request.method == "GET" and not path.startswith("/api/")
        if error.status_code == 401 and is_page and "authorization" not in request.headers:
            return RedirectResponse(_login(path), 303, headers=HEADERS)
        return await http_exception_handler(request, error)

    @app.get("/")
    def all_archives(user: Any = somebody) -> Any:
        return HTMLResponse(overview_page(_overviews(user)), headers=HEADERS)

    @app.get("/archives/{name}")
    def one_archive(name: str, user: Any = somebody) -> Any:
        return HTMLResponse(detail_page(_detail(name, user)), headers=HEADERS)

    @app.get("/api/archives")
    def all_as_json(user: Any = somebody) -> Any:
        return JSONResponse({"archives": [one.to_json() for one in _overviews(user)]}, headers=HEADERS)

    @app.get("/api/archives/{name}")
    def one_as_json(name: str, user: Any = somebody) -> Any:
        return JSONResponse(_detail(name, user).to_json(), headers=HEADERS)

    # Asked from this site, and noted in Airflow's audit log, done or not.
    posted = [Depends(from_here()), Depends(action_logging("bring_missing_slots"))]

    @app.post("/archives/{name}/backfill", dependencies=posted)
    def bring_by_form(name: str, user: Any = somebody) -> Any:
        bring(_allowed(name, user), user)
        return RedirectResponse(f"../{quote(name, safe='')}", 303, headers=HEADERS)

    @app.post("/api/archives/{name}/backfill", dependencies=posted)
    def bring_by_api(name: str, user: Any = somebody) -> Any:
        return JSONResponse(bring(_allowed(name, user), user), 201, headers=HEADERS)

    return app


def _overviews(user: Any) -> list[Overview]:
    return [_with_button(one, user) for one in _looks().overviews(_seen_by(user))]


def _detail(name: str, user: Any) -> Detail:
    from tidewheel.dags.page.archives_shown import detail_of
    from tidewheel.indexing.rules.health import LOOKED_AT
    from tidewheel.pages.facts import Detail

    path = _allowed(name, user)
    [overview] = _looks().overviews([path])
    detail = detail_of(path, overview) if overview.health.word in LOOKED_AT else Detail(overview)
    return replace(detail, overview=_with_button(detail.overview, user))


@cache
def _looks() -> Looks:
    from tidewheel.dags.page.looks import Looks

    return Looks()


def _with_button(overview: Overview, user: Any) -> Overview:
    from tidewheel.dags.page.bringing import bring_of

    status, gaps = overview.status, overview.to_bring
    if status is None or not gaps:
        return overview
    return replace(overview, bring=bring_of(overview.name, user, status.axis.start_us(gaps[0][0])))


def _login(page: str) -> str:
    """Return the address of the login, with any auth manager, that leads back to one of these pages."""
    ours = href().removesuffix("/")
    return f"{ours.removesuffix(PREFIX)}/api/v2/auth/login?next={quote(ours + page, safe='')}"


def href() -> str:
    """Return the page's path, below the path of this Airflow."""
    from urllib.parse import urlsplit

    from airflow.configuration import conf

    return urlsplit(conf.get("api", "base_url", fallback="")).path.rstrip("/") + f"{PREFIX}/"


def archive_files() -> dict[str, Path]:
    """The archive files of the bundles' folders, by name; of two with one name that of the first folder."""
    found: dict[str, Path] = {}
    for folder in _folders():
        for path in sorted(folder.glob("*.toml")):
            found.setdefault(path.stem, path)
    return found


def _folders() -> list[Path]:
    """The folders of the bundles as Airflow's configuration names them; without such a bundle the usual one."""
    from airflow.configuration import conf

    from tidewheel.resolve import archives_folder, in_home

    bundles = json.loads(conf.get("dag_processor", "dag_bundle_config_list", fallback="") or "[]")
    ours = [bundle.get("kwargs") or {} for bundle in bundles if bundle.get("classpath") == _BUNDLE]
    named = [in_home(one["folder"]) if one.get("folder") else archives_folder() for one in ours]
    return [folder.absolute() for folder in named or [archives_folder()]]


def _seen_by(user: Any) -> list[Path]:
    return [path for name, path in archive_files().items() if _may_read(name, user)]


def _allowed(name: str, user: Any) -> Path:
    """The file of an archive that the user may see; who may not is told nothing, not even whether it is there."""
    from fastapi import HTTPException

    path = archive_files().get(name)
    if path is None or not _may_read(name, user):
        raise HTTPException(404, f"there is no archive {name} that you may see")
    return path


def _may_read(name: str, user: Any) -> bool:
    """Tell whether the user may read the archive's maintenance DAG. Airflow may not know it if the file is faulty."""
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.models.resource_details import DagDetails
    from airflow.models.dag import DagModel

    dag_id = f"{name}__maintenance"
    details = DagDetails(id=dag_id, team_name=DagModel.get_team_name(dag_id))
    return get_auth_manager().is_authorized_dag(method="GET", details=details, user=user)
