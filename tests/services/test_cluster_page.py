"""The page of all archives in the production shape, asked over HTTP with the login and the reading key it has there.

agreement    in twelve situations it says what `status`, the task `watch` and the metrics say
a demo       that got no data for twenty minutes is late, though expiry went on
no store     each archive is a line within seconds, and the api-server's health check is red until the store is back
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Mapping
from typing import Any
from urllib.request import Request, urlopen

import pytest

from benchmarks.archives.feeding import create, feed
from tests.support.archives.health_faces import assert_agreed
from tests.support.archives.situations import FIELDS, HOUR_US, MINUTE_US, SITUATIONS, Situations, rows
from tests.support.services.running_cluster import ROOT, Running, wait_until
from tidewheel.archive import Archive
from tidewheel.commits.clock import now_us
from tidewheel.hands import archive_job
from tidewheel.indexing.core.slots import iso
from tidewheel.resolve import read_archive_file, resolve
from tidewheel.storage.location import Location

pytestmark = pytest.mark.cluster

HEALTH_S = 120


def asked(cluster: Running, path: str, content: Mapping[str, str] | None = None, token: str = "") -> Any:
    port = cluster.variables["AIRFLOW_PORT"]
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    data = None if content is None else json.dumps(content).encode()
    with urlopen(Request(f"http://127.0.0.1:{port}{path}", data, headers), timeout=60) as answer:
        return json.load(answer)


def lines(cluster: Running) -> dict[str, dict[str, Any]]:
    """The archives as the page shows them, by name."""
    login = {"username": "admin", "password": cluster.variables["AIRFLOW_ADMIN_PASSWORD"]}
    token = asked(cluster, "/auth/token", login)["access_token"]
    return {one["name"]: one for one in asked(cluster, "/tidewheel/api/archives", token=token)["archives"]}


@pytest.mark.usefixtures("in_store")
def test_the_page_agrees_with_the_other_faces_in_twelve_situations(cluster: Running) -> None:
    """The files are put where the cluster looks for them when all is played, so that no run of theirs comes first; the
    cause that Airflow knows of is the subject of tests/dags/test_health_agrees.py."""
    played = Situations.in_folder(cluster.folder / "played", store="s3a://archives/tables/played")
    for name, (make, _, _) in SITUATIONS.items():
        make(played, name)
    target = cluster.folder / "archives"
    (target / "queries").mkdir(exist_ok=True)
    shutil.copytree(played.folder / "source", cluster.folder / "source", dirs_exist_ok=True)
    copies = [(path, target / path.relative_to(played.folder / "archives")) for path in files_of(played)]
    try:
        for path, copy in copies:
            shutil.copy(path, copy)
        seen = lines(cluster)
    finally:
        for _, copy in copies:
            copy.unlink()
    for name, (_, word, is_red) in SITUATIONS.items():
        assert_agreed(played.path(name), word, seen[name], is_red=is_red)


def files_of(played: Situations) -> list[Any]:
    return sorted((played.folder / "archives").rglob("*.toml"))


@pytest.mark.usefixtures("in_store")
def test_the_demo_without_data_for_twenty_minutes_is_late(cluster: Running) -> None:
    """Its file, with a table of its own, whose newest batch ended then; expiry has gone on."""
    text = (ROOT / "archives/production/demo.toml").read_text()
    text = text.replace('name = "demo"', 'name = "stopped"').replace("tables/demo", "tables/stopped")
    text = text.replace('"customer"', '"k"').replace('inserted_at = "at"', 'inserted_at = "t"')
    path = cluster.folder / "archives" / "stopped.toml"
    aside = cluster.folder / "stopped.toml"
    aside.write_text(text)
    file, at_us = read_archive_file(aside), now_us()
    job = archive_job(Location.of(file.path), clock=lambda: at_us - 20 * MINUTE_US)
    create(job, FIELDS, file.definition("salt"))
    newest = file.axis.slot_of(at_us - 20 * MINUTE_US) - 1
    for slot in (newest - 1, newest):
        feed(job, [slot], rows(file.axis, slot, lives_us=HOUR_US))
    Archive(resolve(aside)).expire(iso(file.axis.start_us(file.axis.slot_of(at_us))))
    shutil.copy(aside, path)
    try:
        seen = lines(cluster)["stopped"]
    finally:
        path.unlink()
    assert_agreed(aside, "late", seen, is_red=True)
    assert "15m are allowed ([schedule] freshness)" in seen["health"]["why"]


def test_a_store_that_stopped_is_a_line_and_turns_the_health_check_red(cluster: Running) -> None:
    shutil.copy(ROOT / "archives/production/demo.toml", cluster.folder / "archives" / "seen.toml")
    [door] = cluster.processes("--readonly")
    lines(cluster)
    os.kill(door, signal.SIGSTOP)
    try:
        began = time.monotonic()
        seen = lines(cluster)
        assert time.monotonic() - began < 20
        assert seen["seen"]["health"]["word"] == "unreadable"
        wait_until(lambda: cluster.run("health", "airflow-apiserver").returncode == 1, HEALTH_S)
    finally:
        os.kill(door, signal.SIGCONT)
    wait_until(lambda: cluster.run("health", "airflow-apiserver").returncode == 0, HEALTH_S)
    (cluster.folder / "archives" / "seen.toml").unlink()
