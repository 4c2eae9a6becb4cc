"""The health check of docker-compose.yml: red, with the reason, whenever an update could not run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.support.services.mounts import folder_outside_tmp, with_tmp_noexec
from tests.support.services.servers import object_store

CHECK = Path(__file__).parent.parent.parent / "scripts/healthcheck"
PAGES = {
    "/health": {"scheduler": {"status": "healthy"}, "triggerer": {"status": None}},
    "/two": {"aliveworkers": 2},
    "/none": {"aliveworkers": 0},
}
ARCHIVE = """
[archive]
name = "{name}"
path = "s3a://{path}"
key = ["k"]
inserted_at = "at"
expires_at = "until"
[time]
interval = "1h"
max_lifetime = "4h"
[source]
path = "x/{{slot}}.json"
format = "json"
schema = "k string, at timestamp, until timestamp"
"""


class Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(PAGES[self.path]).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def asked(*words: str, environment: dict[str, str] | None = None) -> str:
    """What it says; nothing if all is well."""
    return said_by([sys.executable, str(CHECK), *words], environment or {})


def said_by(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False, cwd="/")
    assert (done.returncode == 0) == (done.stderr == "")
    assert not done.stderr or done.stderr.startswith("not healthy: ")
    return done.stderr


def test_a_page_and_a_part(url: str) -> None:
    assert asked(f"{url}/health", "scheduler") == ""
    assert "triggerer" in asked(f"{url}/health", "triggerer")
    assert "does not answer" in asked(f"{url}/gone")
    assert "does not answer" in asked("http://127.0.0.1:1/health", "scheduler")


def test_a_cluster_without_workers(url: str) -> None:
    assert asked(f"{url}/health", "--workers", f"{url}/two") == ""
    assert "has no worker" in asked(f"{url}/health", "--workers", f"{url}/none")


def test_a_place_where_java_may_run_its_libraries(url: str) -> None:
    executors, driver = (
        with_tmp_noexec(sys.executable, CHECK, f"{url}/two", "--java", whose) for whose in ("executors", "driver")
    )
    with folder_outside_tmp() as folder:
        # A driver looks for itself, executors must be told.
        places = {"SPARK_LOCAL_DIRS": str(folder)}
        assert said_by(driver, places) == ""
        assert "noexec" in said_by(executors, places)
        assert said_by(executors, {"JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={folder}"}) == ""
        assert "noexec" in said_by(driver, {"JAVA_TOOL_OPTIONS": "-Djava.io.tmpdir=/tmp"})


def test_a_store_that_lets_us_in(url: str, tmp_path: Path) -> None:
    with object_store(tmp_path) as store:
        folder = tmp_path / "archives"
        folder.mkdir()
        environment = {**store.environment, "TIDEWHEEL_ARCHIVES": str(folder)}
        write(folder, "one", "archives/tables/one")
        (folder / "faulty.toml").write_text("[archive")
        assert asked(f"{url}/two", "--store", environment=environment) == ""
        wrong = {**environment, "AWS_SECRET_ACCESS_KEY": "wrong"}
        assert "does not let us in" in asked(f"{url}/two", "--store", environment=wrong)
        empty = {**environment, "AWS_SECRET_ACCESS_KEY": ""}
        assert "set and empty" in asked(f"{url}/two", "--store", environment=empty)
        write(folder, "two", "elsewhere/tables/two")
        assert "has no bucket elsewhere" in asked(f"{url}/two", "--store", environment=environment)
    assert "does not let us in" in asked(f"{url}/two", "--store", environment=environment)


def write(folder: Path, name: str, path: str) -> None:
    (folder / f"{name}.toml").write_text(ARCHIVE.format(name=name, path=path))
