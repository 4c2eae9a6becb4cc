"""What a view costs that reads the log itself: an archive of a thousand real files, asked by plain DuckDB."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.scale.paper import AXIS, KEYS, Paper, make
from tidewheel.indexing.core.slots import moment
from tidewheel.indexing.core.state import FileFact
from tidewheel.sql.published.published_views import published_view
from tidewheel.storage.snapshot import open_snapshot

FILES = Paper("view", slots=200, files_a_slot=5)
FILE_ROWS, TIMES = 1_000, 5
QUERIES = {"count": "SELECT count(*) FROM paper", "probe": f"FROM paper WHERE key = {KEYS // 2}"}
_MOMENT = pa.timestamp("us", "UTC")


def viewed(folder: Path) -> dict[str, Any]:
    """Seconds of a count and of a key's records, by the view of one version and by the one that follows the log."""
    location = make(FILES, folder)
    snapshot = open_snapshot(location)
    for fact in snapshot.files:
        target = Path(location.child(fact.path))
        target.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(_rows(fact), target, compression="zstd")
    told: dict[str, Any] = {"files": len(snapshot.files), "records": len(snapshot.files) * FILE_ROWS}
    for dialect in ("duckdb", "duckdb_log"):
        with duckdb.connect() as connection:
            connection.execute(published_view(snapshot, dialect))
            for name, query in QUERIES.items():
                told[f"{dialect}_{name}_seconds"] = _quickest_seconds(connection, query)
    return told


def _quickest_seconds(connection: duckdb.DuckDBPyConnection, query: str) -> float:
    times = []
    for _ in range(TIMES):
        started = perf_counter()
        connection.execute(query).fetchall()
        times.append(perf_counter() - started)
    return min(times)


def _rows(fact: FileFact) -> pa.Table:
    """Keys spread over the whole space, so that a key's records lie in all files."""
    at, until = moment(AXIS.start_us(fact.ins_min)), moment(AXIS.start_us(fact.exp_min))
    return pa.table(
        {
            "key": pa.array([n * KEYS // FILE_ROWS for n in range(FILE_ROWS)], pa.int64()),
            "at": pa.array([at] * FILE_ROWS, _MOMENT),
            "until": pa.array([until] * FILE_ROWS, _MOMENT),
            "body": ["x" * 100] * FILE_ROWS,
            "valid_until": pa.array([until] * FILE_ROWS, _MOMENT),
            "row_hash": pa.array(range(FILE_ROWS), pa.int64()),
            "ins_slot": pa.array([fact.ins_min] * FILE_ROWS, pa.int64()),
            "exp_slot": pa.array([fact.exp_min] * FILE_ROWS, pa.int64()),
        }
    )
