"""Results as the frames of other libraries, and as notebooks show them: the same rows, nothing rounded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tidewheel
from tests.support.archives.built_table import HOUR_US, BuiltTable
from tests.support.archives.columns import column
from tests.support.archives.local_archive import MINUTE_US, Event, LocalArchive
from tidewheel.archive import Archive
from tidewheel.indexing.core.slots import moment
from tidewheel.indexing.errors import InvalidInput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BEYOND = 2**53 + 1  # no float is it
ROWS = 30


@pytest.fixture
def table(tmp_path: Path) -> BuiltTable:
    """Thirty records alive, each third without a number, and a file of three dead ones."""
    fields = [column("key", "string"), column("size", "long"), column("ratio", "double")]
    table = BuiltTable.create(tmp_path / "table", fields, ["key"])
    table.append([table.row(0, 2 * HOUR_US, key=f"dead{n}", size=n) for n in range(3)], watermark=0)
    alive = [
        table.row(1, 5 * HOUR_US, key=f"<{n:02d}>", size=None if n % 3 == 0 else BEYOND + n, ratio=n / 4)
        for n in range(ROWS)
    ]
    table.append(alive, watermark=1)
    return table


@pytest.fixture
def archive(table: BuiltTable) -> Archive:
    return tidewheel.open(table.location.uri)


def test_pandas_keeps_whole_numbers_beside_nulls(archive: Archive) -> None:
    for result in (archive.probe_range("<", "="), archive.scan(), archive.sql("from live order by key")):
        frame = result.df()
        assert len(frame) == ROWS
        assert frame["ratio"].dtype == "float64"
        sizes = frame.set_index("key")["size"]
        assert sizes["<01>"] == BEYOND + 1
        assert sizes.isna().sum() == ROWS / 3
    assert isinstance(archive.probe("nobody").df(), pd.DataFrame)


def test_polars_and_arrow_take_results_as_they_are(archive: Archive) -> None:
    expected = sorted(archive.scan().rows())
    assert sorted(archive.scan().pl().rows()) == expected
    assert sorted(archive.probe_range("<", "=").pl().rows()) == expected
    for result in (archive.scan(), archive.probe_range("<", "=")):
        assert sorted(pl.DataFrame(result).rows()) == expected
    whole = archive.probe("<04>")
    assert pa.table(whole).to_pylist() == whole.dicts() == [{"key": "<04>", "size": BEYOND + 4, "ratio": 1.0}]
    assert whole.pl().schema["size"] == pl.Int64


def test_a_notebook_shows_the_first_rows_and_loses_none(archive: Archive) -> None:
    stream = archive.sql("select key, size from live order by key")
    shown = stream._repr_html_()
    assert shown == stream._repr_html_()
    assert "<td>&lt;00&gt;</td><td></td>" in shown
    assert "&lt;19&gt;" in shown
    assert "&lt;20&gt;" not in shown
    assert shown.endswith("more, the first 20 of them</p>")
    assert len(stream.rows()) == ROWS
    assert archive.probe("<04>")._repr_html_().endswith(": 1 row</p>")


def test_what_fails_on_the_way_is_said_in_our_words(archive: Archive) -> None:
    query = "select case when key = '<29>' then error('no') else 1 end as one from live order by key"
    with pytest.raises(InvalidInput, match="no"):
        archive.sql(query).df()


@pytest.mark.nightly
def test_spark_reads_what_is_alive_and_opens_nothing_else(spark: SparkSession, tmp_path: Path) -> None:
    fed = LocalArchive(tmp_path).create()
    for slot in range(4):
        at_us = slot * MINUTE_US
        fed.update({slot: [Event(f"k{n}", slot, at_us + 5, at_us + (n % 5 + 1) * MINUTE_US) for n in range(20)]})
    archive = tidewheel.open(fed.job.location.uri)
    frame = archive.spark(spark)
    assert frame.columns == ["k", "r", "v", "x", "t", "ins_slot", "exp_slot", "valid_until"]
    assert sorted(map(tuple, frame.select("k", "v").collect())) == sorted(archive.scan(columns=["k", "v"]).rows())
    files = fed.job.snapshot().files
    first = min(files, key=lambda file: file.exp_max)
    later_us = fed.axis.end_us(first.exp_max)
    expected = archive.scan(columns=["k", "v"], as_of=moment(later_us)).rows()
    assert expected
    Path(fed.job.location.child(first.path)).write_bytes(b"not a file of Parquet")
    left = archive.spark(spark, as_of=moment(later_us)).select("k", "v")
    assert sorted(map(tuple, left.collect())) == sorted(expected)
