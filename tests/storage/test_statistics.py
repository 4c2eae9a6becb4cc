"""Statistics in the log may be wider than the file, never narrower: a probe must not lose its file."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.archives import built_table
from tests.support.archives.built_table import HOUR_US, BuiltTable
from tests.support.archives.columns import column
from tidewheel.commits.statistics import TEXT_MAX, file_statistics
from tidewheel.indexing.core.definition import Clock
from tidewheel.sql.reader import Reader

LAST = "\U0010ffff"


def statistics_of(values: list[Any], kind: pa.DataType) -> dict[str, Any]:
    buffer = BytesIO()
    pq.write_table(pa.table({"key": pa.array(values, kind)}), buffer, row_group_size=2)
    parquet = pq.ParquetFile(buffer)
    found: dict[str, Any] = json.loads(file_statistics(parquet, ["key"]))
    return found


@pytest.mark.parametrize(
    ("values", "kind", "least", "greatest"),
    [
        ([3, 1, 2], pa.int64(), 1, 3),
        (["b", "a", "ü"], pa.string(), "a", "ü"),
        ([date(2026, 1, 2), date(2026, 1, 1)], pa.date32(), "2026-01-01", "2026-01-02"),
        (
            [datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)],
            pa.timestamp("us", "UTC"),
            "2026-01-01T00:00:00.000000Z",
            "2026-01-01T00:00:00.000001Z",
        ),
    ],
)
def test_least_and_greatest(values: list[Any], kind: pa.DataType, least: Any, greatest: Any) -> None:
    found = statistics_of(values, kind)
    assert (found["numRecords"], found["nullCount"]["key"]) == (len(values), 0)
    assert (found["minValues"]["key"], found["maxValues"]["key"]) == (least, greatest)


@pytest.mark.parametrize("tail", ["z", "zz" * 50, LAST, LAST + "z", LAST * 3])
def test_a_long_text_stays_below_its_stated_maximum(tail: str) -> None:
    value = "k" * TEXT_MAX + tail
    found = statistics_of([value], pa.string())
    assert found["minValues"]["key"] <= value <= found["maxValues"]["key"]


def test_a_text_whose_bounds_the_writer_left_out_is_read() -> None:
    """Parquet's writers leave them out where they are long; who reads the log believes that every file has them."""
    buffer = BytesIO()
    keys = pa.table({"key": ["b" * 9000, "a" * 5000, "c"]})
    pq.write_table(keys, buffer, row_group_size=2, write_statistics=False)
    found = json.loads(file_statistics(pq.ParquetFile(buffer), ["key"]))
    assert (found["minValues"]["key"], found["maxValues"]["key"]) == ("a" * TEXT_MAX, "c")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1.5, float("nan")], pa.float64()),
        ([True], pa.bool_()),
        ([b"x"], pa.binary()),
        ([Decimal("1.5")], pa.decimal128(9, 2)),
    ],
)
def test_kinds_whose_order_is_not_safe_have_none(values: list[Any], kind: pa.DataType) -> None:
    assert statistics_of(values, kind)["minValues"] == {}


CHARACTERS = ["a", "é", "\uffff", "\U00010000", "😀", "𠮷", "\U0002fa1d", "\U000fffff", LAST]


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("character", CHARACTERS, ids=ascii)
def test_every_character_is_found_by_the_statistics_of_this_program_and_of_earlier_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, character: str, cut: bool
) -> None:
    """Earlier ones wrote escapes, of which delta-rs 1.6.6 reads some as smaller characters."""
    key = character * (TEXT_MAX + 2 if cut else 1)
    for program, ascii_only in (("this", False), ("earlier", True)):
        table = BuiltTable.create(tmp_path / program, [column("key", "string")], ["key"], clock=Clock.DATA)
        monkeypatch.setattr(built_table, "ASCII_STATISTICS", ascii_only)
        table.append([table.row(0, 5 * HOUR_US, key=key)], watermark=1)
        assert program == "earlier" or table.snapshot.adds.column("max.key").to_pylist() == [key]
        with Reader.open(table.location, now_us=lambda: 0) as reader:
            assert len(reader.probe(key).rows()) == 1, program
