"""A place by any name is the same place for delta-rs, pyarrow, Spark and DuckDB, or is refused."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from tests.support.archives.built_table import HOUR_US, BuiltTable
from tests.support.archives.columns import column
from tidewheel.indexing.errors import InvalidInput
from tidewheel.sql.reader import Reader
from tidewheel.storage.location import Location


@pytest.mark.parametrize("name", ["x y", "ü", "a#b", "a?b", "a[b]", "a{b,c}", "st*r", "it's", 'say "hi"', "50%", "a:b"])
def test_unusual_names_work(tmp_path, name):
    table = BuiltTable.create(tmp_path / name, [column("key", "string")], ["key"])
    table.append([table.row(0, 9 * HOUR_US, key="a")], watermark=0)
    with Reader.open(tmp_path / name, now_us=lambda: 0) as reader:
        for result in (reader.probe("a"), reader.scan(), reader.sql("select key from live")):
            assert result.rows() == [("a",)]


@pytest.mark.parametrize("name", ["a%20b", "new\nline", "tab\tbed", "a\\b"])
def test_names_that_delta_cannot_keep_are_refused(name):
    with pytest.raises(InvalidInput, match="delta-rs cannot keep a table at"):
        Location.of(f"/data/{name}")


def test_spark_gets_names_as_they_are_and_patterns_escaped():
    place = Location.of("/data/a b[1]/ü")
    assert place.spark_uri == "file:///data/a b[1]/ü"
    assert place.spark_paths(["x/layout=0/f.parquet"]) == [r"file:///data/a b\[1\]/ü/x/layout=0/f.parquet"]
    assert Location.of("s3://bucket/a/").spark_uri == "s3a://bucket/a"


@pytest.mark.parametrize("name", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])
def test_a_key_of_the_store_that_is_empty_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "")
    location = Location.of("s3a://bucket/table")
    for ask in (lambda: location.filesystem, lambda: location.storage_options):
        with pytest.raises(InvalidInput, match=f"{name} is set and empty"):
            ask()
    assert Location.of("/a/table").storage_options is None


def test_threads_that_write_a_file_at_once_leave_it_whole(tmp_path: Path) -> None:
    location = Location.of(tmp_path)
    contents = [bytes([number]) * 1_000_000 for number in range(4)]
    together = Barrier(len(contents), timeout=10)

    def write(content: bytes) -> None:
        for _ in range(5):
            together.wait()
            location.write_bytes(location.child("side/file"), content)

    with ThreadPoolExecutor(len(contents)) as threads:
        list(threads.map(write, contents))
    assert location.read_bytes(location.child("side/file")) in contents
    assert os.listdir(tmp_path / "side") == ["file"]
