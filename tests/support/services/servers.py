"""Real servers for tests, on this machine's loopback only: an S3 store whose conditional PUT is atomic, PostgreSQL.

A server lives as long as its `with`. One that cannot be had is a skip that names the install command; where the
variable TIDEWHEEL_REQUIRE_SERVICES is set, as in `make test-cluster`, it is a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyarrow import fs

from scripts.native_services import (
    Missing,
    free_port,
    postgres_command,
    postgres_folder,
    postgres_ready,
    start,
    stop,
    versitygw,
)
from tidewheel.indexing.errors import NotInstalled
from tidewheel.jobs.process.jars import require

REQUIRED_VARIABLE = "TIDEWHEEL_REQUIRE_SERVICES"
START_MAX_S = 60.0


@dataclass(frozen=True)
class ObjectStore:
    """A running S3 server with one bucket."""

    endpoint: str
    bucket: str
    environment: Mapping[str, str]

    def url(self, path: str) -> str:
        return f"s3a://{self.bucket}/{path}"


@dataclass(frozen=True)
class Postgres:
    """A running PostgreSQL with one superuser; `log` is the server's, statements included."""

    port: int
    user: str
    password: str
    log: Path

    @property
    def jdbc_url(self) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/postgres"

    def execute(self, sql: str) -> str:
        """Run statements; what psql prints, bare."""
        command = ["psql", "-h", "127.0.0.1", "-p", str(self.port), "-U", self.user, "-d", "postgres"]
        command += ["-v", "ON_ERROR_STOP=1", "-qAt", "-c", sql]
        surroundings = {**os.environ, "PGPASSWORD": self.password}
        done = subprocess.run(command, env=surroundings, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


@contextmanager
def object_store(folder: Path) -> Iterator[ObjectStore]:
    """An S3 server over a folder; `environment` is what every client of it needs, and nothing is set here."""
    with available():
        program = versitygw()
    data, port = folder / "objects", free_port()
    data.mkdir(parents=True)
    key, secret = "tests", "only-for-tests"
    endpoint = f"http://127.0.0.1:{port}"
    command = [str(program), "--port", f"127.0.0.1:{port}", "--quiet", "--health", "/health", "posix", str(data)]
    server = {"ROOT_ACCESS_KEY_ID": key, "ROOT_SECRET_ACCESS_KEY": secret}
    with _running(command, server, folder / "versitygw.log", lambda: _answers(f"{endpoint}/health")):
        client = fs.S3FileSystem(
            access_key=key,
            secret_key=secret,
            endpoint_override=endpoint,
            region="us-east-1",
            allow_bucket_creation=True,
        )
        client.create_dir("archives")
        access = {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret}
        yield ObjectStore(endpoint, "archives", {**access, "AWS_ENDPOINT_URL": endpoint, "AWS_REGION": "us-east-1"})


@contextmanager
def postgres(folder: Path) -> Iterator[Postgres]:
    """A PostgreSQL with password authentication and every statement in its log."""
    password, port = "only-for-tests", free_port()
    place = postgres_folder(folder)
    more = ["fsync=off", "log_statement=all", "shared_buffers=32MB"]
    with available():
        command = postgres_command(place, port, user="tests", password=password, more=more)
    try:
        log = folder / "postgres.log"
        with _running(command, {}, log, lambda: postgres_ready(port)):
            yield Postgres(port, "tests", password, log)
    finally:
        shutil.rmtree(place if place != folder else place / "data")


def require_jars(name: str) -> None:
    """Skip unless the jars of a set were fetched."""
    with available():
        require(name)


@contextmanager
def available() -> Iterator[None]:
    """Skip where something is missing, or fail where it is required."""
    try:
        yield
    except (Missing, NotInstalled) as missing:
        if os.environ.get(REQUIRED_VARIABLE):
            pytest.fail(str(missing), pytrace=False)
        pytest.skip(str(missing))


@contextmanager
def _running(
    command: Sequence[str], environment: Mapping[str, str], log: Path, ready: Callable[[], bool]
) -> Iterator[None]:
    """A server process, from when it is ready until the end of the `with`."""
    process = start(command, {**os.environ, **environment}, log)
    try:
        deadline = time.monotonic() + START_MAX_S
        while not ready():
            assert process.poll() is None, f"{command[0]} ended: {log.read_text()}"
            assert time.monotonic() < deadline, f"{command[0]} is not ready: {log.read_text()}"
            time.sleep(0.05)
        yield
    finally:
        stop([process])


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
