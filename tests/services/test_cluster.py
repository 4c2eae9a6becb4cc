"""The production shape, alive: what docker-compose.yml starts, with a /tmp that allows no execution, as in containers.

demo       the archive that comes along has data from the first start on
sockets    everything listens on the loopback, and a stranger gets nothing of the Spark cluster
secrets    are with those who need them, and on no command line and in no log
health     turns red when no update could run, and green again
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import yaml

import tidewheel
from tests.support.services.mounts import with_tmp_noexec
from tests.support.services.running_cluster import ROOT, WORK_S, Running, applications, applied_at, wait_until
from tests.support.services.sockets import is_outer, listening
from tidewheel.indexing.core.slots import iso, moment
from tidewheel.playground.demo_source import EVERY, demo_records

pytestmark = pytest.mark.cluster

WORKER_GONE_S = 240
DEMO_TABLE = "s3a://archives/tables/demo"


@pytest.mark.usefixtures("in_store")
def test_the_archive_that_comes_along_has_data_from_the_first_start_on(cluster: Running) -> None:
    found: dict[tuple[str, int], int] = {}

    def landed() -> bool:
        found.update(listening(cluster.processes()))
        return bool(applied_at(DEMO_TABLE))

    wait_until(landed, WORK_S, every_s=1)
    archive = tidewheel.open(DEMO_TABLE)
    slot = max(applied_at(DEMO_TABLE))
    end_us = archive.axis.end_us(slot)
    rows = archive.scan(as_of=iso(end_us), where=f"ins_slot = {slot}", columns=["customer", "bytes"]).rows()
    batch = demo_records(moment(archive.axis.start_us(slot)), EVERY)
    lives = [
        one
        for one in batch
        if datetime.fromisoformat(one["at"]) + timedelta(minutes=one["keep_minutes"]) > moment(end_us)
    ]
    assert sorted(rows) == sorted((one["customer"], one["bytes"]) for one in lives)
    assert len(found) > 10
    assert [at for at in found if is_outer(at[0])] == [], "services, drivers and executors listen on the loopback only"
    (cluster.folder / "archives" / "demo.toml").unlink()


def test_every_service_is_healthy_and_only_those_hold_keys_who_need_them(cluster: Running) -> None:
    done = cluster.run("health")
    assert done.returncode == 0, done.stdout
    assert len(done.stdout.splitlines()) == len(cluster_services()) - 1
    secret = cluster.variables["AWS_SECRET_ACCESS_KEY"].encode()
    holders = [words for pid, words in cluster.processes().items() if secret in environment_of(pid)]
    assert len(holders) >= 3
    strangers = (
        "api-server",
        "dag-processor",
        "triggerer",
        "airflow-clean",
        "deploy.worker",
        "deploy.master",
        "postgres",
    )
    assert [words for words in holders for one in strangers if one in words] == []
    print(f"{sum(map(memory_of, cluster.processes())) >> 20} MB in use")


def test_a_worker_whose_java_may_not_run_its_libraries_is_not_healthy(cluster: Running) -> None:
    place = cluster.folder / "home/volumes/spark-worker"
    mount = f'mount -t tmpfs -o noexec tmpfs {place} && exec "$@"'
    command = with_tmp_noexec("sh", "-c", mount, "sh", *cluster.command, "health", "spark-worker")
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 1
    assert "noexec" in done.stdout


def test_without_workers_the_scheduler_is_not_healthy_until_they_are_back(cluster: Running) -> None:
    workers = cluster.processes("deploy.worker.Worker")
    assert len(workers) == 2
    try:
        for worker in workers:
            os.kill(worker, signal.SIGSTOP)
        wait_until(lambda: cluster.run("health", "airflow-scheduler").returncode == 1, WORKER_GONE_S)
        assert "has no worker" in cluster.run("health", "airflow-scheduler").stdout
    finally:
        for worker in workers:
            os.kill(worker, signal.SIGCONT)
    wait_until(lambda: cluster.run("health", "airflow-scheduler").returncode == 0, WORKER_GONE_S)


def test_who_does_not_know_the_secret_gets_nothing_of_the_cluster(cluster: Running) -> None:
    code = "from tidewheel.jobs.process.session import open_session; open_session('stranger').range(1).count()"
    done = cluster.run("exec", "airflow-scheduler", "env", "-u", "_SPARK_AUTH_SECRET", "python", "-c", code)
    assert done.returncode != 0
    names = [one["name"] for one in applications(cluster)]
    assert names
    assert "stranger" not in names


def test_airflow_forgets_what_is_old(cluster: Running) -> None:
    logs = cluster.folder / "home/volumes/airflow/logs"
    old, new = logs / "old/one.log", logs / "new/one.log"
    for path in (old, new):
        path.parent.mkdir(parents=True)
        path.touch()
    os.utime(old, (0, 0))
    os.utime(old.parent, (0, 0))
    cluster.execute("python", "-c", OLD_EVENT)
    cluster.execute("airflow-clean", "1", "--once")
    assert not old.exists()
    assert new.exists()
    assert cluster.execute("python", "-c", COUNT_EVENTS).splitlines()[-1] == "0 1"


def test_no_secret_is_on_a_command_line_or_in_a_log(cluster: Running) -> None:
    secrets = [
        value
        for name, value in cluster.variables.items()
        if re.search("PASSWORD|SECRET|KEY", name) and name != "AWS_ACCESS_KEY_ID"
    ]
    assert len(secrets) >= 6
    lines = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True).stdout
    logs = "".join(path.read_text(errors="replace") for path in (cluster.folder / "home").rglob("*.log"))
    assert [secret for secret in secrets if secret in lines or secret in logs] == []


OLD_EVENT = """
from datetime import UTC, datetime
from airflow.models.log import Log
from airflow.utils.session import create_session
with create_session() as session:
    for event in ("old event", "new event"):
        session.add(Log(event))
    session.flush()
    session.query(Log).filter(Log.event == "old event").update({"dttm": datetime(2020, 1, 1, tzinfo=UTC)})
"""
COUNT_EVENTS = """
from airflow.models.log import Log
from airflow.utils.session import create_session
with create_session() as session:
    print(*(session.query(Log).filter(Log.event == event).count() for event in ("old event", "new event")))
"""


def cluster_services() -> dict[str, object]:
    """All of the file: both profiles are active."""
    services: dict[str, object] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    return services


def environment_of(process: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{process}/environ").read_bytes()
    return b""


def memory_of(process: int) -> int:
    """Its bytes, and its share of what it has in common with others."""
    with suppress(OSError):
        found = re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{process}/smaps_rollup").read_text(), re.M)
        return int(found[1]) * 1024 if found else 0
    return 0
