"""The production shape, alive: `scripts/cluster up`, and an archive on s3a:// that Airflow keeps with a Spark cluster.

sources    JSON batches in the bucket, for the hours of this morning
schedule   Airflow's scheduler catches up; every update's driver sends its work to the standalone workers
backfill   an hour further back, and over one that the schedule has done and whose data has been corrected meanwhile
a SIGKILL  ends the driver of one running update
in the end every cell equals the oracle, for DuckDB and for Spark, and the audit is clean
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from scripts.compose_file import read_environment_file
from scripts.native_services import free_port, postgres_folder
from tests.support.processes import kill_one_spark
from tests.support.services import require_jars
from tests.support.toml_archives import Rows, TomlArchive, records_of
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.oracle import Oracle
from tidewheel.indexing.slots import iso, micros
from tidewheel.storage.location import Location

pytestmark = pytest.mark.cluster

ROOT = Path(__file__).parent.parent
READY_S, WORK_S = 600, 900
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
        given = [*self.command, "exec", "airflow-scheduler", *command]
        done = subprocess.run(given, capture_output=True, text=True, check=False, cwd=ROOT)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    require_jars("s3")
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "archives").mkdir()
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
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen([*running.command, "up"], stdout=output, stderr=output, cwd=ROOT)
    try:
        wait_until(lambda: "ready:" in log.read_text() or process.poll() is not None, READY_S)
        assert process.poll() is None, log.read_text()
        yield running
    finally:
        process.terminate()
        process.wait(120)
        shutil.rmtree(postgres_folder(folder / "home" / "postgres"), ignore_errors=True)


@pytest.fixture
def in_store(cluster: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process is a client of the cluster's store."""
    variables = cluster.variables
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{variables['STORE_PORT']}")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.setenv(name, variables[name])


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
    assert applications(cluster) >= RUNS


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


def applications(cluster: Running) -> int:
    """How many drivers have used the standalone cluster."""
    url = f"http://127.0.0.1:{cluster.variables['SPARK_UI_PORT']}/json/"
    code = f"import json, urllib.request; print(len(json.load(urllib.request.urlopen({url!r}))['completedapps']))"
    return int(cluster.execute("python", "-c", code))


def wait_until(done: Callable[[], bool], at_most_s: float, every_s: float = 5) -> None:
    deadline = time.monotonic() + at_most_s
    while not done():
        assert time.monotonic() < deadline, "it takes too long"
        time.sleep(every_s)
