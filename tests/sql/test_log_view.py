"""The view over a table's own log shows what the reader shows, version after version, or fails."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

import tidewheel
from tests.support.archives.built_table import HOUR_US, BuiltTable
from tests.support.archives.columns import column
from tests.support.archives.local_archive import MINUTE_US, Event, LocalArchive
from tidewheel.indexing.core.definition import Clock
from tidewheel.indexing.errors import InvalidInput
from tidewheel.sql.published.published_views import published_view
from tidewheel.sql.reader import Reader
from tidewheel.storage.location import Location

QUERY = "select k, v, valid_until, ins_slot, exp_slot from {} order by all"
SLOTS = 11  # a checkpoint is among so many commits


def batch(slot: int) -> dict[int, list[Event]]:
    at_us = slot * MINUTE_US
    return {slot: [Event(f"k{n}", slot, at_us + 5, at_us + (n % 5 + 1) * MINUTE_US) for n in range(10)]}


@pytest.fixture
def archive(tmp_path: Path) -> LocalArchive:
    """In a folder whose name has what is special in SQL and in patterns."""
    archive = LocalArchive(tmp_path / "it's [1]*").create()
    for slot in range(SLOTS):
        archive.update(batch(slot))
    return archive


def viewed(archive: LocalArchive) -> Callable[[], list[Any]]:
    """The rows of the view, by a connection that knows nothing but its text."""
    connection = duckdb.connect()
    connection.execute("set timezone = 'UTC'")
    connection.execute(published_view(archive.job.snapshot(), "duckdb_log"))
    return lambda: connection.execute(QUERY.format("m")).fetchall()


def read(archive: LocalArchive) -> list[Any]:
    with Reader.open(archive.job.location, now_us=lambda: 0) as reader:
        return [tuple(row) for row in reader.sql(QUERY.format("live")).rows()]


def test_it_follows_whatever_is_done(archive: LocalArchive) -> None:
    rows = viewed(archive)
    assert rows() == read(archive)
    opened = tidewheel.open(archive.job.location.uri)
    for step in (
        lambda: archive.update(batch(SLOTS)),
        lambda: archive.update(batch(3)),
        lambda: opened.forget([("k4",)]),
        opened.vacuum,
        lambda: archive.update(batch(SLOTS + 1)),
        lambda: opened.migrate(rebuild=True),
    ):
        before = rows()
        step()
        assert rows() == read(archive)
    assert before


def test_what_is_missing_is_no_fewer_rows(archive: LocalArchive) -> None:
    rows = viewed(archive)
    data = Path(archive.job.location.child(archive.job.snapshot().files[0].path))
    entries = sorted(Path(archive.job.location.child("_delta_log")).glob("*.json"))
    assert max(entries[0].parent.glob("*.checkpoint.parquet")).name < entries[-1].name
    for path, said in ((data, "file that the log names"), (entries[-1], "an entry of the log")):
        kept = path.read_bytes()
        if path is data:
            path.unlink()
        else:
            path.write_bytes(b"")
        with pytest.raises(duckdb.Error, match=said):
            rows()
        path.write_bytes(kept)
    assert rows() == read(archive)


def test_beside_a_writer_every_answer_is_one_version(archive: LocalArchive) -> None:
    rows, seen = viewed(archive), []
    versions = [read(archive)]

    def write() -> None:
        for slot in range(SLOTS, SLOTS + 6):
            archive.update(batch(slot))
            versions.append(read(archive))

    writer = threading.Thread(target=write)
    writer.start()
    while writer.is_alive():
        seen.append(rows())
    writer.join()
    assert all(one in versions for one in seen)
    assert rows() == versions[-1]


@pytest.mark.parametrize("clock", list(Clock))
def test_the_moment_is_that_of_the_reader(tmp_path: Path, clock: Clock) -> None:
    table = BuiltTable.create(tmp_path, [column("key", "string")], ["key"], clock=clock)
    ends = (3 * HOUR_US // 2, 5 * HOUR_US, 2**55)
    table.append([table.row(0, end, key=str(end)) for end in ends], watermark=1)
    with pytest.raises(InvalidInput, match="no checkpoint") as refused:
        published_view(table.snapshot, "duckdb_log")
    assert refused.value.remedy == table.location.command("vacuum")
    checkpoint(table)
    connection = duckdb.connect()
    connection.execute(published_view(table.snapshot, "duckdb_log"))
    # For the wall clock all of 1970 is over.
    expected = [5 * HOUR_US, 2**55] if clock is Clock.DATA else [2**55]
    assert connection.execute("select key from built order by cast(key as bigint)").fetchall() == [
        (str(end),) for end in expected
    ]
    table.widen(column("added", "double"))
    table.append([table.row(2, 2**55 + 1, key="new", added=1.5)], watermark=2)
    assert ("new",) in connection.execute("select key from built").fetchall()


def checkpoint(table: BuiltTable) -> None:
    table.snapshot.table.create_checkpoint()


def test_an_archive_without_records_is_refused_as_such(tmp_path: Path) -> None:
    table = BuiltTable.create(tmp_path, [column("key", "string")], ["key"])
    with pytest.raises(InvalidInput, match="no records yet"):
        published_view(table.snapshot, "duckdb_log")


def test_an_object_store_is_refused(tmp_path: Path) -> None:
    table = BuiltTable.create(tmp_path, [column("key", "string")], ["key"])
    snapshot = replace(table.snapshot, location=Location.of("s3a://bucket/table"))
    with pytest.raises(InvalidInput, match="extension only"):
        published_view(snapshot, "duckdb_log")
