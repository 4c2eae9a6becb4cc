"""Bloom filters in memory: they say what DuckDB's own look at them says, and never exclude a key that is there."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import LongType

from tidewheel.indexing.core.state import FileFact
from tidewheel.jobs.data.write import key_options
from tidewheel.jobs.process.session import open_session
from tidewheel.sql.keys import key_filters
from tidewheel.sql.keys.key_filters import KeyFilters
from tidewheel.storage.location import Location

START = date(1900, 1, 1)
# How a key of each type is drawn; the last two are stored in ways that are not sure enough to be told apart.
DRAWN = {
    "int64": lambda chance: chance.choice([-(2**63), 2**63 - 1, chance.randint(-(10**12), 10**12)]),
    "int32": lambda chance: chance.randint(-(2**31), 2**31 - 1),
    "int16": lambda chance: chance.randint(-(2**15), 2**15 - 1),
    "string": lambda chance: "".join(chance.choices("abcé\U0001f600'", k=chance.randint(0, 60))),
    "binary": lambda chance: chance.randbytes(chance.randint(0, 40)),
    "date32": lambda chance: START + timedelta(days=chance.randint(0, 90_000)),
    "float64": lambda chance: chance.random(),
    "bool": lambda chance: chance.random() < 0.5,
}
HASHED = ("int64", "int32", "int16", "string", "binary", "date32")


@pytest.mark.parametrize("kind", DRAWN)
@pytest.mark.parametrize("seed", range(3))
def test_a_key_that_is_there_is_never_excluded(tmp_path: Path, kind: str, seed: int) -> None:
    chance = random.Random(f"{kind} {seed}")
    keys = sorted(DRAWN[kind](chance) for _ in range(300))
    file = written(tmp_path, pa.array(keys, kind), group_rows=chance.choice([7, 64, 300]), ndv=chance.choice([4, 300]))
    filters = KeyFilters(Location.of(tmp_path), "key")
    assert all(filters.admitted([file], key) == ([file], []) for key in keys)


@pytest.mark.parametrize("kind", HASHED)
def test_absent_keys_are_excluded_exactly_where_duckdb_excludes_them(tmp_path: Path, kind: str) -> None:
    chance = random.Random(kind)
    file = written(tmp_path, pa.array([DRAWN[kind](chance) for _ in range(200)], kind), group_rows=200, ndv=60)
    absent = [DRAWN[kind](chance) for _ in range(100)]
    filters, path = KeyFilters(Location.of(tmp_path), "key"), str(tmp_path / file.path)
    [(least, greatest)] = duckdb.execute("SELECT min(key), max(key) FROM read_parquet(?)", [path]).fetchall()
    for key in absent:
        [(excluded,)] = duckdb.execute(
            "SELECT bool_and(bloom_filter_excludes) FROM parquet_bloom_probe(?, 'key', ?)", [path, key]
        ).fetchall()
        assert filters.admitted([file], key)[1] == ([file] if excluded or not least <= key <= greatest else [])
    assert any(filters.admitted([file], key)[1] for key in absent)


def test_spark_writes_filters_also_where_a_dictionary_would_hold_all_keys(tmp_path: Path) -> None:
    frame = open_session().range(20_000).selectExpr("cast(id div 1000 as bigint) * 2 as key", "uuid() as body")
    options = {**key_options("key", LongType(), group_rows=1000), "parquet.block.row.count.limit": "5000"}
    frame.coalesce(1).sortWithinPartitions("key").write.options(**options).parquet(str(tmp_path / "files"))
    [file] = [data_file(tmp_path, path) for path in (tmp_path / "files").glob("*.parquet")]
    filters = KeyFilters(Location.of(tmp_path), "key")
    found = [key for key in range(40) if filters.admitted([file], key)[0]]
    assert found == list(range(0, 40, 2))


def test_what_cannot_be_told_excludes_nothing(tmp_path: Path) -> None:
    keys = pa.array(range(0, 200, 2), "int64")
    good = written(tmp_path, keys, group_rows=100, ndv=100)
    without = written(tmp_path, keys, group_rows=100, ndv=None)
    wrong_size = replace(good, bytes=good.bytes + 1)
    gone = replace(good, path="gone.parquet")
    filters = KeyFilters(Location.of(tmp_path), "key")
    assert filters.admitted([gone, wrong_size, without], 11) == ([gone, wrong_size, without], [])
    assert filters.admitted([good], 11) == ([], [good])
    for unknown in (1.5, True, 2**80, "11"):
        assert filters.admitted([good], unknown) == ([good], [])
    other = KeyFilters(Location.of(tmp_path), "another column")
    assert other.admitted([good], 11) == ([good], [])


def test_a_filter_of_an_unknown_kind_excludes_nothing(tmp_path: Path) -> None:
    file = written(tmp_path, pa.array(range(0, 200, 2), "int64"), group_rows=100, ndv=100)
    offset = pq.read_metadata(tmp_path / file.path).row_group(0).column(0).bloom_filter_offset
    content = bytearray((tmp_path / file.path).read_bytes())
    header = content.index(bytes.fromhex("1c1c0000"), offset)
    content[header] = 0x2C  # another number for the algorithm's field
    (tmp_path / file.path).write_bytes(content)
    assert KeyFilters(Location.of(tmp_path), "key").admitted([file], 11) == ([file], [])


def test_files_are_read_once_and_forgotten_when_they_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [written(tmp_path, pa.array(range(at, at + 200, 2), "int64"), group_rows=50, ndv=50) for at in (0, 100)]
    filters = KeyFilters(Location.of(tmp_path), "key")
    before = [filters.admitted(files, key) for key in range(300)]
    for file in files:
        (tmp_path / file.path).unlink()
    assert [filters.admitted(files, key) for key in range(300)] == before
    filters.keep([files[0].path])
    assert filters.admitted(files, 151) == ([files[1]], [files[0]])
    monkeypatch.setattr(key_filters, "KEPT_BYTES_MAX", 1)
    filters.keep([file.path for file in files])
    assert filters.admitted(files, 151) == (files, [])


def written(folder: Path, keys: pa.Array, *, group_rows: int, ndv: int | None) -> FileFact:
    """A file of keys in an order of its own."""
    path = folder / f"{len(list(folder.iterdir()))}.parquet"
    bloom = ndv is not None and not pa.types.is_boolean(keys.type)
    options: dict[str, Any] = {"bloom_filter_options": {"key": {"ndv": ndv}}} if bloom else {}
    pq.write_table(pa.table({"key": keys}), path, row_group_size=group_rows, **options)
    return data_file(folder, path)


def data_file(folder: Path, path: Path) -> FileFact:
    return FileFact(str(path.relative_to(folder)), 0, 0, 0, 0, 0, 0, 0, 1, path.stat().st_size)
