"""Another Delta table as source: one version of it, and only the files that hold the interval."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from tidewheel.commits.archive import ArchiveJob
from tidewheel.indexing.archive_file.read import parse_archive_file
from tidewheel.indexing.core.definition import ArchiveFile
from tidewheel.indexing.errors import InvalidInput
from tidewheel.jobs.create import create
from tidewheel.jobs.data.source import read_batch
from tidewheel.jobs.update import update
from tidewheel.storage.location import Location

START = datetime(2026, 1, 1, tzinfo=UTC)
ARCHIVE = """
[archive]
name = "events"
path = "/nowhere/archive"
key = ["id"]
expires_at = "at + interval 1 day"
[time]
interval = "1h"
max_lifetime = "7d"
epoch = "2026-01-01T00:00:00Z"
[source]
format = "delta"
time_column = "at"
[source.options]
path = "{path}"
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Three versions of one file each: the hours 0 to 2, a row every 10 minutes."""
    for hour in range(3):
        append_hour(tmp_path / "events", hour)
    return tmp_path / "events"


def append_hour(table: Path, hour: int) -> None:
    rows = range(6 * hour, 6 * hour + 6)
    times = [START + timedelta(minutes=10 * row) for row in rows]
    content = pa.table({"id": pa.array(rows, pa.int64()), "at": pa.array(times, pa.timestamp("us", "UTC"))})
    write_deltalake(table, content, mode="append")


def archive_of(table: Path) -> ArchiveFile:
    return parse_archive_file(ARCHIVE.format(path=table), "events.toml")


def test_the_batch_is_the_interval_and_the_lineage_names_the_version(table: Path, spark: SparkSession) -> None:
    batch = read_batch(spark, archive_of(table), [1, 2])
    assert sorted(tuple(row) for row in batch.frames[0].select("id", "ins_slot").collect()) == [
        (row, row // 6) for row in range(6, 18)
    ]
    assert batch.lineage[1] == (f"{table} version 2 2026-01-01T01:00:00Z/2026-01-01T02:00:00Z",)


def test_rows_committed_after_the_read_was_planned_stay_out(table: Path, spark: SparkSession) -> None:
    batch = read_batch(spark, archive_of(table), [2])
    append_hour(table, 2)
    assert batch.frames[0].count() == 6


def test_files_outside_the_interval_are_not_opened(table: Path, spark: SparkSession) -> None:
    actions = pa.table(DeltaTable(table).get_add_actions(flatten=True)).to_pylist()
    for action in actions:
        if action["min.at"] != START + timedelta(hours=1):
            (table / action["path"]).unlink()
    assert sorted(row["id"] for row in read_batch(spark, archive_of(table), [1]).frames[0].collect()) == list(
        range(6, 12)
    )


@pytest.mark.parametrize("missing", ["fail", "empty"])
def test_a_slot_without_rows_fails_the_run_or_is_an_empty_batch(table: Path, tmp_path: Path, missing: str) -> None:
    text = ARCHIVE.replace("/nowhere", str(tmp_path)).replace("[source]", f'[source]\nmissing = "{missing}"')
    file = parse_archive_file(text.format(path=table), "events.toml")
    job = ArchiveJob(Location.of(file.path), file)
    create(job, 0)
    update(job, [0])
    if missing == "empty":
        assert update(job, [2, 3]).version == 2
        return
    with pytest.raises(InvalidInput, match=r"no row of slot 2026-01-01T03:00:00Z: none with a at in it. Nothing was"):
        update(job, [2, 3])
    assert job.snapshot().version == 1
    assert len(list(Path(file.path).glob("run-*"))) == 1, "what was written for the refused run is gone"
    assert update(job, [2]).version == 2
