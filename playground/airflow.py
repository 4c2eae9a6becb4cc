"""Airflow on one machine, as plain processes on SQLite: for `make airflow`, the tests and the benchmark.

    api-server      the page and the tasks' way to the database
    scheduler       with its LocalExecutor: the tasks are its grandchildren
    dag-processor   reads the archive files
    triggerer       has nothing to do, but Airflow's page shows an alarm where there is none

Everything lies in one folder, AIRFLOW_HOME; remove it to begin anew. Its commands/ holds `airflow` and `tidewheel` with
the settings of this Airflow.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from tidewheel.dags.build.pools import pools_document
from tidewheel.dags.tasks.wording import COMMANDS_VARIABLE
from tidewheel.playground.airflow_commands import write_commands
from tidewheel.playground.process_trees import stop_trees
from tidewheel.playground.sqlite_savepoints import LOCAL_SETTINGS

LOG = logging.getLogger(__name__)
# In this order: the scheduler's first tasks fail if the server they report to does not answer yet.
COMPONENTS: Mapping[str, tuple[str, ...]] = {
    "api-server": (),
    "dag-processor": (),
    # The logs of running tasks are read from the same disk; no server for them is needed.
    "scheduler": ("--skip-serve-logs",),
    "triggerer": ("--skip-serve-logs", "--capacity", "1"),
}
_USER = "admin"
_READY_S = 180
# Tasks that run on have lost the api-server they report to, and would only ask for it again and again.
_STOP_S = 5


@dataclass
class EmbeddedAirflow:
    """An Airflow in a folder: `prepare`, `start`, `stop`; settings of the caller win over those here."""

    home: Path
    archives: Sequence[Path]
    port: int = 8080
    settings: Mapping[str, str] = field(default_factory=dict)
    users: Sequence[str] = ()  # beside the administrator, each NAME:ROLE
    _running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"

    @property
    def database(self) -> Path:
        return self.home / "airflow.db"

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of every process."""
        return {**os.environ, **self.own_settings}

    @property
    def commands(self) -> Path:
        """Return the folder of `airflow` and `tidewheel` for this Airflow."""
        return self.home / "commands"

    @property
    def own_settings(self) -> dict[str, str]:
        """Return all the configuration there is."""
        bundles = [
            {"name": name, "classpath": "tidewheel.dags.build.bundle.ArchivesBundle", "kwargs": kwargs}
            for name, kwargs in self._bundles().items()
        ]
        ours = {
            "AIRFLOW_HOME": str(self.home),
            # SQLite has one writer at a time; five seconds, its default, are short on a busy machine.
            **self._connection(timeout_s=60),
            "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST": json.dumps(bundles),
            "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_STORAGE_PATH": str(self.home / "bundles"),
            "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
            # Every update is a Spark of its own: as many as a laptop carries.
            "AIRFLOW__CORE__PARALLELISM": "3",
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
            "AIRFLOW__CORE__DEFAULT_TASK_RETRY_DELAY": "10",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join([f"{_USER}:admin", *self.users]),
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(self._password_file),
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{self.url}/execution/",
            "AIRFLOW__API__PORT": str(self.port),
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__BASE_URL": self.url,
            "AIRFLOW__API__WORKERS": "1",
            "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.5",
            "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
            # Commands in messages are longer than a page is wide.
            "AIRFLOW__API__DEFAULT_WRAP": "True",
            "TIDEWHEEL_ARCHIVES": os.pathsep.join(map(str, self.archives)),
            "TIDEWHEEL_METRICS": str(self.home / "metrics"),
            COMMANDS_VARIABLE: str(self.commands),
        }
        return {**ours, **self.settings}

    def prepare(self) -> None:
        """Make the folder, the password, the database and the archives' pools, unless they are there already."""
        self.home.mkdir(parents=True, exist_ok=True)
        # The folder keeps itself out of whatever repository it lies in.
        (self.home / ".gitignore").write_text("*\n", encoding="utf-8")
        if not self._password_file.exists():
            self._password_file.touch(mode=0o600)
            self._password_file.write_text("{}", encoding="utf-8")
        known = json.loads(self._password_file.read_text(encoding="utf-8"))
        for name in [_USER, *(one.partition(":")[0] for one in self.users)]:
            known.setdefault(name, secrets.token_urlsafe(12))
        self._password_file.write_text(json.dumps(known), encoding="utf-8")
        (self.home / "config").mkdir(exist_ok=True)
        (self.home / "config" / "airflow_local_settings.py").write_text(LOCAL_SETTINGS, encoding="utf-8")
        write_commands(self.commands, self.own_settings, {"airflow": _AIRFLOW, "tidewheel": _TIDEWHEEL})
        self.airflow("db", "migrate")
        with closing(sqlite3.connect(self.database)) as connection:
            # Kept by the file: readers and the writer no longer wait for each other.
            connection.execute("pragma journal_mode=wal")
        pools = pools_document(self.archives)
        if pools:
            path = self.home / "pools.json"
            path.write_text(json.dumps(pools), encoding="utf-8")
            self.airflow("pools", "import", str(path))

    @property
    def login(self) -> tuple[str, str]:
        """Return the administrator and the password."""
        return _USER, self.logins[_USER]

    @property
    def logins(self) -> dict[str, str]:
        """Return the passwords of the page, by user."""
        known = json.loads(self._password_file.read_text(encoding="utf-8"))
        return {name: known[name] for name in [_USER, *(one.partition(":")[0] for one in self.users)]}

    def airflow(self, *arguments: str) -> str:
        """Run one Airflow command to its end; return its output."""
        done = subprocess.run(
            [*_AIRFLOW, *arguments], env=self.environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"airflow {' '.join(arguments)} failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
        return done.stdout

    def start(self) -> None:
        """Start the components; the page answers when this returns."""
        if not _is_free(self.port):
            raise RuntimeError(f"port {self.port} is in use; choose another: make airflow PORT=8081")
        logs = self.home / "logs"
        logs.mkdir(exist_ok=True)
        for name, options in COMPONENTS.items():
            if name == "scheduler":
                self._wait_until_ready()
            with (logs / f"{name}.log").open("ab") as log:
                # A session of its own: Ctrl-C reaches only us, and we stop it with all its children.
                self._running[name] = subprocess.Popen(
                    [*_AIRFLOW, name, *options],
                    env=self._environment_of(name),
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )

    def check(self) -> None:
        """Raise if a component has ended by itself."""
        for name, process in self._running.items():
            if process.poll() is not None:
                tail = (self.home / "logs" / f"{name}.log").read_text(encoding="utf-8", errors="replace")[-3000:]
                raise RuntimeError(f"airflow {name} ended with code {process.returncode}:\n{tail}")

    def stop(self) -> None:
        """Stop all, tasks and their Spark included; their uncommitted work never happened."""
        for name in stop_trees(self._running.values(), _STOP_S):
            LOG.warning("stopped harder: %s", name)
        self._running.clear()

    @property
    def pids(self) -> dict[str, int]:
        return {name: process.pid for name, process in self._running.items()}

    @property
    def _password_file(self) -> Path:
        return self.home / "passwords.json"

    def _connection(self, timeout_s: int) -> dict[str, str]:
        """Return the address of the database, and how long to wait for its writer."""
        return {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{self.database}?timeout={timeout_s}"}

    def _environment_of(self, component: str) -> dict[str, str]:
        """Return the environment of one component.

        The api-server logs each request in its event loop. If another of its own requests has written and waits for
        that loop to commit, the api-server waits for itself, for as long as this setting lets it: the page stands
        still, then one request ends in 500, and all goes on.
        """
        own = self._connection(timeout_s=5) if component == "api-server" else {}
        return {**self.environment, **own}

    def _bundles(self) -> dict[str, dict[str, object]]:
        names = ["tidewheel", *(f"tidewheel-{number}" for number in range(1, len(self.archives)))]
        return {
            name: {"folder": str(folder), "refresh_interval": 10}
            for name, folder in zip(names, self.archives, strict=True)
        }

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + _READY_S
        while time.monotonic() < deadline:
            self.check()
            try:
                with urlopen(f"{self.url}/api/v2/version", timeout=2):
                    return
            except (URLError, OSError):
                time.sleep(0.5)
        raise RuntimeError(f"Airflow's page at {self.url} did not answer within {_READY_S} s; see {self.home}/logs")


_AIRFLOW = (sys.executable, "-m", "airflow")
_TIDEWHEEL = (sys.executable, "-m", "tidewheel.cli")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0
