"""A DuckDB database file: INSERT, DELETE, CHECKPOINT. Freed blocks are used again; the file never shrinks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from benchmarks.archives.stream import COLUMNS, INTERVAL_US, as_of_us
from benchmarks.harness.contender import Contender, Contents, Course, Family
from benchmarks.harness.measures import written_by_process
from benchmarks.harness.parquet_reader import BATCH_ROWS
from benchmarks.harness.truth import MIX, Summary

_COLUMNS = ", ".join(COLUMNS)


class DuckDBFile(Contender):
    name = "duckdb_file"
    label = "DuckDB database file, DELETE + CHECKPOINT"
    family = Family.RIVAL
    note = "One process at a time may open it. No index: batches are sorted by key, zone maps prune."
    off_disk = "when its blocks are used again; not bounded"
    load_each = 1

    def create(self, course: Course) -> None:
        self._source = course.source
        self._path = str(course.folder / "archive.duckdb")
        self._slot = -1
        self._connect()
        self._connection.execute(
            "CREATE TABLE t (id BIGINT, key BIGINT, body VARCHAR, ins TIMESTAMPTZ, until TIMESTAMPTZ)"
        )

    def update(self, slots: Sequence[int]) -> dict[str, Any]:
        alive = f"until > make_timestamptz({as_of_us(slots[-1])})"
        paths = [self._source.path(slot) for slot in slots]
        self._connection.execute("BEGIN")
        self._connection.execute(
            f"INSERT INTO t SELECT {_COLUMNS} FROM read_parquet({paths}) WHERE {alive} ORDER BY key"
        )
        self._connection.execute(f"DELETE FROM t WHERE NOT ({alive})")
        self._connection.execute("COMMIT")
        self._connection.execute("CHECKPOINT")
        return {}

    def refresh(self, slot: int) -> None:
        self._slot = slot

    def probe(self, key: int) -> pa.Table:
        return self._connection.sql(self._select(f"key = {key}")).to_arrow_table()

    def probe_range(self, low: int, high: int) -> pa.Table:
        return self._connection.sql(self._select(f"key >= {low} AND key < {high}")).to_arrow_table()

    def scan(self) -> Iterator[pa.RecordBatch]:
        yield from self._connection.sql(self._select("true")).to_arrow_reader(BATCH_ROWS)

    def contents(self) -> Contents:
        """What the file holds beyond its live records, at their mean size, counts as dead: freed blocks included."""
        mix = MIX.format(until_us="epoch_us(until)")
        alive = f"until > make_timestamptz({as_of_us(self._slot)})"
        [(rows, live, ids, mixed, first)] = self._connection.execute(
            f"SELECT count(*), count(*) FILTER ({alive}), coalesce(sum(id) FILTER ({alive}), 0), "
            f"coalesce(sum({mix}) FILTER ({alive}), 0), min((epoch_us(until) - 1) // {INTERVAL_US}) FROM t"
        ).fetchall()
        [(_, _, block, total, used, *_)] = self._connection.execute("PRAGMA database_size").fetchall()
        return Contents(
            live=Summary(live, int(ids), int(mixed)),
            files=1,
            rows=rows,
            bytes=block * total,
            dead_bytes=block * (total - used) + round(block * used * (rows - live) / max(1, rows)),
            oldest_dead=max(0, self._slot + 1 - first) if first is not None and first <= self._slot else 0,
        )

    def files(self) -> list[str]:
        return [self._path]

    def written_bytes(self) -> int | None:
        return written_by_process()

    def forget_caches(self) -> None:
        """Its buffers live with the database: open it again."""
        self._connection.close()
        self._connect()

    def close(self) -> None:
        self._connection.close()

    def _connect(self) -> None:
        self._connection = duckdb.connect(self._path)
        self._connection.execute("SET TimeZone = 'UTC'")

    def _select(self, condition: str) -> str:
        alive = f"until > make_timestamptz({as_of_us(self._slot)})"
        return f"SELECT {_COLUMNS} FROM t WHERE {condition} AND {alive}"
