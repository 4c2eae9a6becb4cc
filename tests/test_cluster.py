"""The production shape, alive: `scripts/cluster up`, and an archive on s3a:// that Airflow keeps with a Spark cluster.

sources    JSON batches in the bucket, for the hours of this morning
/tmp       allows no execution, as in the containers
demo       the archive that comes along has data from the first start on
schedule   Airflow's scheduler catches up; every update's driver sends its work to the standalone workers
backfill   an hour further back, and over one that the schedule has done and whose data has been corrected meanwhile
a SIGKILL  ends the driver of one running update
in the end every cell equals the oracle, for DuckDB and for Spark, and the audit is clean
health     turns red when no update could run, and green again
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.request import urlopen

import pytest
import yaml

import tidewheel
from scripts.compose_file import read_environment_file
from scripts.native_services import free_port, postgres_folder
from tests.support.mounts import folder_outside_tmp, with_tmp_noexec
from tests.support.processes import kill_one_spark, processes_below
from tests.support.services import require_jars
from tests.support.sockets import is_outer, listening
from tests.support.toml_archives import Rows, TomlArchive, records_of
from tidewheel.dags.demo_source import EVERY, demo_records
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.oracle import Oracle
from tidewheel.indexing.slots import iso, micros, moment
from tidewheel.storage.ledger_store import ledger_of
from tidewheel.storage.location import Location

pytestmark = pytest.mark.cluster

ROOT = Path(__file__).parent.parent
READY_S, WORK_S, WORKER_GONE_S = 600, 900, 240
# Services that have no business with the object store.
STRANGERS = ("api-server", "dag-processor", "triggerer", "airflow-clean", "deploy.worker", "deploy.master", "postgres")
DEMO_TABLE = "s3a://archives/tables/demo"
SLOTS_PER_RUN, RUNS = 3, 3
HOUR = timedelta(hours=1)
PORTS = ("POSTGRES_PORT", "STORE_PORT", "SPARK_PORT", "SPARK_UI_PORT", "WORKER_UI_PORT", "AIRFLOW_PORT")
ARCHIVE = """
[archive]
name = "tide"
path = "s3a://archives/tables/tide"
key = ["key"]
inserted_at = "at"
expires_at = "until"
[time]
interval = "20m"
max_lifetime = "4h"
[layout]
expiration_classes = 3
[source]
path = "s3a://archives/batches/{{slot}}.json"
format = "json"
schema = "key string, at timestamp, until timestamp, body bigint"
[retention]
grace = "1h"
vacuum_period = "1h"
[schedule]
cron = "0 * * * *"
start = {start}
"""


@dataclass(frozen=True)
class Running:
    """A running cluster."""

    folder: Path
    variables: dict[str, str]

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
        return {pid: words for pid, words in processes_below(os.getpid()).items() if part in words}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Running]:
    require_jars("s3")
    with folder_outside_tmp() as folder:
        running = prepared(folder)
        with (folder / "log").open("wb") as output:
            process = subprocess.Popen(with_tmp_noexec(*running.command, "up"), stdout=output, stderr=output, cwd=ROOT)
        try:
            log = folder / "log"
            wait_until(lambda: "ready:" in log.read_text() or process.poll() is not None, READY_S)
            assert process.poll() is None, log.read_text()
            yield running
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


@pytest.fixture
def in_store(cluster: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process is a client of the cluster's store."""
    variables = cluster.variables
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{variables['STORE_PORT']}")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.setenv(name, variables[name])


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
    code = "from tidewheel.jobs.session import open_session; open_session('stranger').range(1).count()"
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


@pytest.mark.usefixtures("in_store")
def test_airflow_keeps_an_archive_on_s3_with_the_cluster(cluster: Running) -> None:
    now = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    start = now - timedelta(hours=RUNS)
    template = TomlArchive(cluster.folder)
    first = template.axis.slot_of(micros(start))
    write_batches(template, range(first - SLOTS_PER_RUN, first + (RUNS + 2) * SLOTS_PER_RUN))
    text = ARCHIVE.format(start=f"{start:%Y-%m-%dT%H:%M:%SZ}")
    (cluster.folder / "archives" / "tide.toml").write_text(text)

    wait_until(lambda: first in applied(template), WORK_S)
    corrected = dict.fromkeys(range(first, first + SLOTS_PER_RUN), 1)
    write_batches(template, corrected, edition=1)
    cluster.execute(
        "airflow", "backfill", "create", "--dag-id", "tide", "--from-date", (start - HOUR).isoformat(),
        "--to-date", start.isoformat(), "--reprocess-behavior", "completed", "--run-backwards",
        "--max-active-runs", "2",
    )  # fmt: skip
    wait_until(lambda: kill_one_spark(os.getpid()), WORK_S, every_s=0.3)
    wait_until(lambda: len(states(cluster)) > RUNS and set(states(cluster)) == {"success"}, WORK_S)

    slots = applied(template)
    assert slots[: (RUNS + 1) * SLOTS_PER_RUN] == list(range(first - SLOTS_PER_RUN, first + RUNS * SLOTS_PER_RUN))
    expected = oracle_of(slots, template.open().snapshot().watermark, corrected)
    assert by_duckdb(template) == expected
    assert by_spark(cluster, template) == expected
    cluster.execute("tidewheel", "audit", str(template.path))
    assert len(applications(cluster)) >= RUNS


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


def applied_at(path: str) -> list[int]:
    """The slots that were applied; none before there is an archive."""
    try:
        ranges = ledger_of(tidewheel.open(path).snapshot()).applied
    except InvalidInput:
        return []
    return [slot for first, last in ranges for slot in range(first, last + 1)]


def states(cluster: Running) -> list[str]:
    """The states of the archive's runs."""
    printed = cluster.execute("airflow", "dags", "list-runs", "tide", "--output", "json")
    [answer] = [line for line in printed.splitlines() if line.startswith("[{")]
    return [run["state"] for run in json.loads(answer)]


def write_batches(template: TomlArchive, slots: Iterable[int], edition: int = 0) -> None:
    bucket = Location.of("s3a://archives/batches")
    for slot in slots:
        lines = [json.dumps(template._row(record)) for record in records_of(slot, edition)]
        bucket.write_bytes(bucket.child(f"{slot}.json"), ("\n".join(lines) + "\n").encode())


def applied(template: TomlArchive) -> list[int]:
    """The slots in the archive's ledger; none before there is an archive."""
    try:
        return template.applied()
    except InvalidInput:
        return []


def oracle_of(slots: list[int], watermark: int | None, editions: Mapping[int, int]) -> Rows:
    oracle = Oracle()
    for slot in slots:
        oracle.update({slot: records_of(slot, editions.get(slot, 0))})
    assert watermark is not None
    oracle.expire(watermark)
    return sorted((r.slot, r.expiration_slot, str(r.key), r.body) for r in oracle.content())  # type: ignore[misc]


def by_duckdb(template: TomlArchive) -> Rows:
    archive = template.open()
    watermark = archive.snapshot().watermark
    assert watermark is not None
    as_of = iso(template.axis.end_us(watermark))
    return sorted(archive.scan(as_of=as_of, columns=["ins_slot", "exp_slot", "key", "body"]).rows())


READ = """
import json
from tidewheel.jobs.session import open_session
spark = open_session("reader")
frame = spark.read.format("delta").load("s3a://archives/tables/tide")
rows = frame.where("exp_slot > {watermark}").select("ins_slot", "exp_slot", "key", "body").collect()
print(json.dumps(sorted(tuple(row) for row in rows)))
"""


def by_spark(cluster: Running, template: TomlArchive) -> Rows:
    watermark = template.open().snapshot().watermark
    printed = cluster.execute("python", "-c", READ.format(watermark=watermark))
    return [tuple(row) for row in json.loads(printed.splitlines()[-1])]


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
