"""Files that this process writes hide no NaN from readers that believe bounds."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidewheel.local.files import Shape, SortedFiles
from tidewheel.storage.location import Location
from tidewheel.storage.parquet_columns import bounded, leaves

NAN = float("nan")
ROWS = pa.table(
    {
        "k": pa.array([-0.0, 0.5, NAN], pa.float64()),
        "v": pa.array([1.0, NAN, 2.0], pa.float32()),
        "s": pa.array([{"x": NAN}, {"x": 1.0}, {"x": 2.0}]),
        "n": pa.array([1, 2, 3]),
        "row_hash": pa.array([1, 2, 3]),
    }
)


def test_bounds_are_for_what_has_an_order() -> None:
    assert bounded(leaves(ROWS.schema)) == ["n", "row_hash"]


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("k = 'NaN'::DOUBLE", 1),
        ("k >= 1", 1),
        ("k = 0", 1),
        ("v = 'NaN'::FLOAT", 1),
        ("v > 5", 1),
        ("s.x = 'NaN'::DOUBLE", 1),
        ("n >= 3", 1),
    ],
)
def test_duckdb_finds_nan_in_our_files(tmp_path: Path, condition: str, rows: int) -> None:
    with SortedFiles(Location(str(tmp_path)), "run", Shape(ROWS.schema, "k", 100, 2**20)) as files:
        files.add((0, 0, 0), ROWS.to_batches()[0])
    [file] = tmp_path.rglob("*.parquet")
    # The fault as it was: the same rows with all bounds.
    pq.write_table(ROWS, tmp_path / "bounded")
    found = [
        len(duckdb.execute(f"SELECT n FROM read_parquet('{path}') WHERE {condition}").fetchall())
        for path in (file, tmp_path / "bounded")
    ]
    assert found[0] == rows
    assert found[1] <= rows
