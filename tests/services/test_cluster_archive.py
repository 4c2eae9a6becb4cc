"""An archive on s3a:// that Airflow keeps with a Spark cluster, all of it processes of this machine.

sources    JSON batches in the bucket, for the hours of this morning
schedule   Airflow's scheduler catches up; every update's driver sends its work to the standalone workers
backfill   an hour further back, and over one that the schedule has done and whose data has been corrected meanwhile
a SIGKILL  ends the driver of one running update
in the end every cell equals the oracle, for DuckDB and for Spark, and the audit is clean
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

import pytest

from benchmarks.archives.described_archive import records_of
from tests.support.archives.toml_archives import Rows, TomlArchive
from tests.support.services.processes import kill_one_spark
from tests.support.services.running_cluster import WORK_S, Running, applications, applied_at, wait_until
from tidewheel.indexing.core.oracle import Oracle
from tidewheel.indexing.core.slots import iso, micros
from tidewheel.storage.location import Location

pytestmark = pytest.mark.cluster

SLOTS_PER_RUN, RUNS = 3, 3
HOUR = timedelta(hours=1)
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


@pytest.mark.usefixtures("in_store")
def test_airflow_keeps_an_archive_on_s3_with_the_cluster(cluster: Running) -> None:
    now = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    start = now - timedelta(hours=RUNS)
    template = TomlArchive(cluster.folder)
    first = template.axis.slot_of(micros(start))
    write_batches(template, range(first - SLOTS_PER_RUN, first + (RUNS + 2) * SLOTS_PER_RUN))
    text = ARCHIVE.format(start=f"{start:%Y-%m-%dT%H:%M:%SZ}")
    (cluster.folder / "archives" / "tide.toml").write_text(text)

    wait_until(lambda: first in applied_at(template.path), WORK_S)
    corrected = dict.fromkeys(range(first, first + SLOTS_PER_RUN), 1)
    write_batches(template, corrected, edition=1)
    cluster.execute(
        "airflow", "backfill", "create", "--dag-id", "tide", "--from-date", (start - HOUR).isoformat(),
        "--to-date", start.isoformat(), "--reprocess-behavior", "completed", "--run-backwards",
        "--max-active-runs", "2",
    )  # fmt: skip
    wait_until(lambda: kill_one_spark(cluster.pid), WORK_S, every_s=0.3)
    wait_until(lambda: all_well(cluster), WORK_S, every_s=15)

    slots = applied_at(template.path)
    assert slots[: (RUNS + 1) * SLOTS_PER_RUN] == list(range(first - SLOTS_PER_RUN, first + RUNS * SLOTS_PER_RUN))
    expected = oracle_of(slots, template.open().snapshot().watermark, corrected)
    assert by_duckdb(template) == expected
    assert by_spark(cluster, template) == expected
    cluster.execute("tidewheel", "audit", str(template.path))
    assert len(applications(cluster)) >= RUNS


def all_well(cluster: Running) -> bool:
    """Whether the schedule's runs and the backfill's have ended well. A look costs seconds of CPU."""
    found = states(cluster)
    return len(found) > RUNS and set(found) == {"success"}


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
from tidewheel.jobs.process.session import open_session
spark = open_session("reader")
frame = spark.read.format("delta").load("s3a://archives/tables/tide")
rows = frame.where("exp_slot > {watermark}").select("ins_slot", "exp_slot", "key", "body").collect()
print(json.dumps(sorted(tuple(row) for row in rows)))
"""


def by_spark(cluster: Running, template: TomlArchive) -> Rows:
    watermark = template.open().snapshot().watermark
    printed = cluster.execute("python", "-c", READ.format(watermark=watermark))
    return [tuple(row) for row in json.loads(printed.splitlines()[-1])]
