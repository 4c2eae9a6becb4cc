"""Real servers for tests, on this machine's loopback only: an S3 store whose conditional PUT is atomic, PostgreSQL.

A server lives as long as its `with`. One that cannot be had is a skip that names the install command; where the
variable TIDEWHEEL_REQUIRE_SERVICES is set, as in `make test-cluster`, it is a failure.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyarrow import fs

from tidewheel.indexing.errors import NotInstalled
from tidewheel.jobs.jars import require

VERSITYGW = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
REQUIRED_VARIABLE = "TIDEWHEEL_REQUIRE_SERVICES"
START_MAX_S = 30.0


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
    program = versitygw()
    data = folder / "objects"
    data.mkdir(parents=True)
    port = free_port()
    keys = {"AWS_ACCESS_KEY_ID": "tests", "AWS_SECRET_ACCESS_KEY": "only-for-tests"}
    endpoint = f"http://127.0.0.1:{port}"
    environment = {**keys, "AWS_ENDPOINT_URL": endpoint, "AWS_REGION": "us-east-1"}
    server = {"ROOT_ACCESS_KEY_ID": keys["AWS_ACCESS_KEY_ID"], "ROOT_SECRET_ACCESS_KEY": keys["AWS_SECRET_ACCESS_KEY"]}
    command = [program, "--port", f"127.0.0.1:{port}", "--quiet", "--health", "/health", "posix", str(data)]
    with _running(command, server, folder / "versitygw.log", lambda: _answers(f"{endpoint}/health")):
        store = fs.S3FileSystem(
            access_key=keys["AWS_ACCESS_KEY_ID"],
            secret_key=keys["AWS_SECRET_ACCESS_KEY"],
            endpoint_override=f"127.0.0.1:{port}",
            scheme="http",
            region="us-east-1",
            allow_bucket_creation=True,
        )
        store.create_dir("archives")
        yield ObjectStore(endpoint, "archives", environment)


@contextmanager
def postgres(folder: Path) -> Iterator[Postgres]:
    """A PostgreSQL in a folder, with password authentication and every statement in its log."""
    programs = _postgres_programs()
    password = "only-for-tests"
    port = free_port()
    folder.mkdir(parents=True, exist_ok=True)
    secret = folder / "password"
    secret.write_text(password)
    # The server refuses to run as root, and pytest's folders are closed to others.
    account = _postgres_account(folder, secret)
    data, log = folder / "data", folder / "postgres.log"
    initialise = [
        str(programs / "initdb"),
        "-D",
        str(data),
        "-U",
        "tests",
        "--pwfile",
        str(secret),
        "-A",
        "scram-sha-256",
    ]
    subprocess.run([*account, *initialise, "--no-sync"], check=True, capture_output=True, cwd="/")
    settings = ["listen_addresses=127.0.0.1", f"port={port}", f"unix_socket_directories={folder}", "fsync=off"]
    settings += ["log_statement=all", "shared_buffers=32MB"]
    command = [*account, str(programs / "postgres"), "-D", str(data)]
    command += [part for setting in settings for part in ("-c", setting)]
    asked = [str(programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
    with _running(command, {}, log, lambda: subprocess.run(asked, check=False).returncode == 0):
        yield Postgres(port, "tests", password, log)


def versitygw() -> str:
    """The S3 server's program, from the PATH or from where scripts/cluster builds it."""
    cached = cache_dir() / "bin" / "versitygw"
    found = shutil.which("versitygw") or (str(cached) if cached.is_file() else None)
    return found or unavailable("the S3 server versitygw is not here", f"GOBIN={cached.parent} go install {VERSITYGW}")


def require_jars(name: str) -> None:
    """Skip unless the jars of a set were fetched."""
    try:
        require(name)
    except NotInstalled as missing:
        unavailable(missing.message, missing.remedy)


def cache_dir() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "tidewheel"


def unavailable(what: str, remedy: str) -> str:
    """Skip, or fail where the services are required."""
    message = f"{what}; to have it: {remedy}"
    if os.environ.get(REQUIRED_VARIABLE):
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _postgres_programs() -> Path:
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    found = str(versions[-1]) if versions else shutil.which("initdb")
    return Path(found or unavailable("PostgreSQL is not here", "apt-get install postgresql")).parent


def _postgres_account(folder: Path, secret: Path) -> list[str]:
    """What to put before the server's commands, and its files in the hands of whom it runs as."""
    if os.geteuid() != 0:
        return []
    account = pwd.getpwnam("postgres")
    for path in (folder, secret):
        os.chown(path, account.pw_uid, account.pw_gid)
    for parent in folder.parents:
        if parent.stat().st_uid == 0 and not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o011)
    return ["setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups", "--"]


@contextmanager
def _running(
    command: Sequence[str], environment: Mapping[str, str], log: Path, ready: Callable[[], bool]
) -> Iterator[None]:
    """A server process, from when it is ready until the end of the `with`."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env={**os.environ, **environment}, stdout=output, stderr=subprocess.STDOUT, cwd="/"
        )
    try:
        deadline = time.monotonic() + START_MAX_S
        while not ready():
            assert process.poll() is None, f"{command[0]} ended: {log.read_text()}"
            assert time.monotonic() < deadline, f"{command[0]} is not ready: {log.read_text()}"
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(timeout=START_MAX_S)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
