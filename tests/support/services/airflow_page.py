"""An Airflow as its REST API shows it: what an operator's page shows too."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

from tidewheel.playground.airflow import EmbeddedAirflow

# Machines that run tests are busy: a generous end for what takes a minute and a half on an idle one.
WAIT_S = 900


class RestPage:
    """Runs, tasks, logs and the rest, by name."""

    def __init__(self, airflow: EmbeddedAirflow) -> None:
        self.airflow = airflow
        user, password = airflow.login
        self.token = self.call("/auth/token", {"username": user, "password": password}, authorized=False)[
            "access_token"
        ]

    def call(self, path: str, content: dict[str, Any] | None = None, *, authorized: bool = True) -> Any:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if authorized:
            headers["Authorization"] = f"Bearer {self.token}"
        data = None if content is None else json.dumps(content).encode()
        for tries_left in reversed(range(10)):
            try:
                with urlopen(Request(self.airflow.url + path, data, headers), timeout=60) as answer:
                    return json.load(answer)
            except HTTPError as error:
                # The api-server on SQLite may meet the scheduler's lock.
                if error.code < 500 or not tries_left:
                    error.add_note(error.read().decode(errors="replace")[:2000])
                    raise
                time.sleep(1)
        raise AssertionError("unreachable")

    def dag_ids(self) -> set[str]:
        return {dag["dag_id"] for dag in self.call("/api/v2/dags?limit=100")["dags"]}

    def runs(self, dag: str) -> list[dict[str, Any]]:
        return list(self.call(f"/api/v2/dags/{dag}/dagRuns?limit=100&order_by=-id")["dag_runs"])

    def states(self, dag: str, run_type: str = "scheduled") -> dict[datetime, str]:
        """The states of a DAG's runs of one type, by the start of their interval."""
        return {
            moment(run["data_interval_start"]): run["state"] for run in self.runs(dag) if run["run_type"] == run_type
        }

    def trigger(self, dag: str, at: datetime | None = None, conf: dict[str, Any] | None = None) -> str:
        """Start a run; its id."""
        date = None if at is None else at.isoformat()
        return str(self.call(f"/api/v2/dags/{dag}/dagRuns", {"logical_date": date, "conf": conf or {}})["dag_run_id"])

    def run(self, dag: str, run_id: str) -> dict[str, Any]:
        return dict(self.call(f"/api/v2/dags/{dag}/dagRuns/{quote(run_id)}"))

    def ended(self, dag: str, run_id: str) -> str:
        """Wait for a run; its state."""
        wait(self.airflow, f"{dag} {run_id}", lambda: self.run(dag, run_id)["state"] in ("success", "failed"))
        return str(self.run(dag, run_id)["state"])

    def task_states(self, dag: str, run_id: str) -> dict[str, str]:
        tasks = self.call(f"/api/v2/dags/{dag}/dagRuns/{quote(run_id)}/taskInstances")["task_instances"]
        return {task["task_id"]: task["state"] for task in tasks}

    def log(self, dag: str, run_id: str, task: str, attempt: int = 1, map_index: int = -1) -> list[str]:
        path = f"/api/v2/dags/{dag}/dagRuns/{quote(run_id)}/taskInstances/{task}/logs/{attempt}?full_content=true"
        path += f"&map_index={map_index}"
        return [str(line["event"]) for line in self.call(path)["content"]]


def moment(text: str | None) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC) if text else datetime.min.replace(tzinfo=UTC)


def wait(airflow: EmbeddedAirflow, what: str, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        airflow.check()
        assert time.monotonic() < deadline, f"waited {WAIT_S} s for {what}; see {airflow.home}/logs"
        time.sleep(0.5)
