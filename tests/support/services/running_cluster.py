"""`scripts/cluster up` for tests: ports of its own, a /tmp that allows no execution, as in containers, and its end."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.request import urlopen

import tidewheel
from scripts.compose_file import read_environment_file
from scripts.native_services import free_port, postgres_folder
from tests.support.services.mounts import folder_outside_tmp, with_tmp_noexec
from tests.support.services.processes import processes_below
from tests.support.services.servers import require_jars
from tidewheel.indexing.errors import InvalidInput
from tidewheel.storage.ledger_store import ledger_of

ROOT = Path(__file__).parents[3]
READY_S, WORK_S = 600, 900
PORTS = tuple(
    f"{name}_PORT" for name in ("POSTGRES", "STORE", "STORE_READER", "SPARK", "SPARK_UI", "WORKER_UI", "AIRFLOW")
)


@dataclass(frozen=True)
class Running:
    """A running cluster."""

    folder: Path
    variables: dict[str, str]
    pid: int = 0  # of the process that started the services

    @property
    def command(self) -> list[str]:
        return [sys.executable, str(ROOT / "scripts/cluster"), *self.options]

    @property
    def options(self) -> list[str]:
        return ["--env-file", str(self.folder / "env"), "--home", str(self.folder / "home")]

    def execute(self, *command: str) -> str:
        """A command with the environment of the scheduler, where updates run."""
        done = self.run("exec", "airflow-scheduler", *command)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A command of scripts/cluster, with a /tmp like that of the services."""
        given = with_tmp_noexec(*self.command, *words)
        return subprocess.run(given, capture_output=True, text=True, check=False, cwd=ROOT)

    def processes(self, part: str = "") -> dict[int, str]:
        """The services' processes with that in their command lines."""
        return {pid: words for pid, words in processes_below(self.pid).items() if part in words}


@contextmanager
def running_cluster() -> Iterator[Running]:
    """From when it is ready until the end of the `with`."""
    require_jars("s3")
    with folder_outside_tmp() as folder:
        running = prepared(folder)
        with (folder / "log").open("wb") as output:
            process = subprocess.Popen(with_tmp_noexec(*running.command, "up"), stdout=output, stderr=output, cwd=ROOT)
        try:
            log = folder / "log"
            wait_until(lambda: "ready:" in log.read_text() or process.poll() is not None, READY_S)
            assert process.poll() is None, log.read_text()
            yield replace(running, pid=process.pid)
        finally:
            process.terminate()
            process.wait(120)
            shutil.rmtree(postgres_folder(folder / "home" / "postgres"), ignore_errors=True)


def prepared(folder: Path) -> Running:
    """The environment file with ports of its own, and the archive that comes along."""
    (folder / "archives").mkdir()
    shutil.copy(ROOT / "archives/production/demo.toml", folder / "archives")
    running = Running(folder, {})
    subprocess.run([*running.command, "init"], check=True)
    ports = {name: str(free_port()) for name in PORTS}
    changes = {
        **ports,
        "AWS_ENDPOINT_URL": f"http://store:{ports['STORE_PORT']}",
        "READER_ENDPOINT_URL": f"http://store-reader:{ports['STORE_READER_PORT']}",
        "TIDEWHEEL_ARCHIVES": str(folder / "archives"),
        "DRIVER_MEMORY": "700m",
        "EXECUTOR_MEMORY": "600m",
        "PARALLEL_UPDATES": "2",
        "RETRY_DELAY_S": "5",
    }
    with (folder / "env").open("a") as file:
        file.writelines(f"{name}={value}\n" for name, value in changes.items())
    running.variables.update(read_environment_file(folder / "env"))
    return running


def applied_at(path: str | Path) -> list[int]:
    """The slots that were applied; none before there is an archive."""
    try:
        ranges = ledger_of(tidewheel.open(path).snapshot()).applied
    except InvalidInput:
        return []
    return [slot for first, last in ranges for slot in range(first, last + 1)]


def applications(cluster: Running) -> list[dict[str, object]]:
    """The drivers that have used the standalone cluster."""
    with urlopen(f"http://127.0.0.1:{cluster.variables['SPARK_UI_PORT']}/json/") as answer:
        found: list[dict[str, object]] = json.load(answer)["completedapps"]
    return found


def wait_until(done: Callable[[], bool], at_most_s: float, every_s: float = 5) -> None:
    deadline = time.monotonic() + at_most_s
    while not done():
        assert time.monotonic() < deadline, "it takes too long"
        time.sleep(every_s)
