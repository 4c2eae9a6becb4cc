"""DuckDB over a list of Parquet files, with the filters a careful reader applies: the best reader for every rival.

Footers are cached and no threads are asked for I/O, as in our own reader. Files whose statistics in the log exclude
the key are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from benchmarks.archives.stream import COLUMNS, INTERVAL_US, as_of_us
from benchmarks.harness.truth import MIX, Summary

BATCH_ROWS = 64 * 1024


@dataclass(frozen=True)
class DataFile:
    """A file with the key bounds that the log knows, if it does."""

    path: str
    key_min: int | None = None
    key_max: int | None = None

    def may_hold(self, low: int, high: int) -> bool:
        return self.key_min is None or self.key_max is None or (self.key_min < high and low <= self.key_max)


@dataclass(frozen=True)
class FileContent:
    """What one file really holds."""

    path: str
    rows: int
    live: Summary
    expiration_min: int


class ParquetReader:
    """An open handle on the files of one version."""

    def __init__(self) -> None:
        self._connection = duckdb.connect()
        self._connection.execute("SET TimeZone = 'UTC'")
        self._connection.execute("SET parquet_metadata_cache = true")
        self._connection.execute("SET enable_external_file_cache = false")
        self._connection.execute("SET GLOBAL async_threads = 0")
        self.files: Sequence[DataFile] = ()
        self.slot = -1

    def refresh(self, files: Sequence[DataFile], slot: int) -> None:
        self.files, self.slot = files, slot

    def range(self, low: int, high: int) -> pa.Table:
        """Live records with a key in [low, high)."""
        chosen = [file for file in self.files if file.may_hold(low, high)]
        condition = f"key = {low}" if high == low + 1 else f"key >= {low} AND key < {high}"
        return self._connection.sql(self._select(chosen, condition)).to_arrow_table()

    def scan(self) -> Iterator[pa.RecordBatch]:
        """All live records."""
        yield from self._connection.sql(self._select(self.files, "true")).to_arrow_reader(BATCH_ROWS)

    def contents(self) -> list[FileContent]:
        """By file: its rows, its live records and the earliest expiration slot in it."""
        if not self.files:
            return []
        live = f"FILTER (until > make_timestamptz({as_of_us(self.slot)}))"
        mix = MIX.format(until_us="epoch_us(until)")
        rows = self._connection.execute(
            f"SELECT filename, count(*), count(*) {live}, coalesce(sum(id) {live}, 0), "
            f"coalesce(sum({mix}) {live}, 0), min((epoch_us(until) - 1) // {INTERVAL_US}) "
            f"FROM {_read(self.files, 'filename = true')} GROUP BY filename"
        ).fetchall()
        return [
            FileContent(path, n, Summary(live, int(ids), int(mixed)), first)
            for path, n, live, ids, mixed, first in rows
        ]

    def close(self) -> None:
        self._connection.close()

    def _select(self, files: Sequence[DataFile], condition: str) -> str:
        if not files:
            empty = "NULL::BIGINT id, NULL::BIGINT key, NULL::VARCHAR body, NULL::TIMESTAMPTZ ins, "
            return f"SELECT {empty} NULL::TIMESTAMPTZ until WHERE false"
        alive = f"until > make_timestamptz({as_of_us(self.slot)})"
        return f"SELECT {', '.join(COLUMNS)} FROM {_read(files)} WHERE {condition} AND {alive}"


def _read(files: Sequence[DataFile], more: str = "") -> str:
    paths = [file.path for file in files]
    return f"read_parquet({paths}, hive_partitioning = false{', ' + more if more else ''})"
