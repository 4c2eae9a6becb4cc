"""Embedded ClickHouse: a table sorted by key with a row TTL, applied every so many updates.

A TTL goes by the wall clock; here time is the data's. So its expression names the moment, and MODIFY TTL moves it
on: the parts with expired rows are rewritten then, as a TTL merge does. In between, reads filter. Merges of parts
run in the background, outside the measured time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from benchmarks.archives.stream import COLUMNS, INTERVAL_US, as_of_us
from benchmarks.harness.contender import Contender, Contents, Course, Family, Unavailable
from benchmarks.harness.measures import sizes_below, written_by_process
from benchmarks.harness.truth import MIX, Summary

_COLUMNS = ", ".join(COLUMNS)
_TIME = "DateTime64(6, 'UTC')"
_UNTIL_US = "toUnixTimestamp64Micro(until)"


class ClickHouse(Contender):
    family = Family.RIVAL
    note = "Embedded (chdb). Background merges are not in its update time."
    off_disk = "with the next TTL merge"
    load_each = 1

    def __init__(self, apply_every: int = 12) -> None:
        self._every = self.settle = apply_every
        self.name = f"clickhouse_ttl_{apply_every}"
        self.label = f"ClickHouse, embedded, row TTL applied every {apply_every}"

    def create(self, course: Course) -> None:
        try:
            from chdb.session import Session
        except ImportError as error:
            raise Unavailable(f"{error}; to race it: uv pip install --group chdb") from error
        self._source, self._folder = course.source, course.folder / "clickhouse"
        self._folder.mkdir(parents=True)
        self._slot, self._updates = -1, 0
        self._session: Any = Session(str(self._folder))
        self._run("CREATE DATABASE IF NOT EXISTS bench")
        self._run(
            f"CREATE TABLE bench.t (id Int64, key Int64, body String, ins {_TIME}, until {_TIME}) "
            f"ENGINE = MergeTree ORDER BY (key, until) TTL {_ttl(0)} "
            "SETTINGS old_parts_lifetime = 0, merge_with_ttl_timeout = 0"
        )

    def load(self, slots: Sequence[int]) -> None:
        super().load(slots)
        self._updates = 0

    def update(self, slots: Sequence[int]) -> dict[str, Any]:
        alive = f"{_UNTIL_US} > {as_of_us(slots[-1])}"
        for slot in slots:
            path = self._source.path(slot)
            self._run(f"INSERT INTO bench.t SELECT {_COLUMNS} FROM file('{path}', Parquet) WHERE {alive}")
        self._updates += 1
        if self._updates % self._every == 0:
            self._run(f"ALTER TABLE bench.t MODIFY TTL {_ttl(as_of_us(slots[-1]))} SETTINGS mutations_sync = 2")
        return {}

    def refresh(self, slot: int) -> None:
        self._slot = slot

    def probe(self, key: int) -> pa.Table:
        return self._arrow(self._select(f"key = {key}"))

    def probe_range(self, low: int, high: int) -> pa.Table:
        return self._arrow(self._select(f"key >= {low} AND key < {high}"))

    def scan(self) -> Iterator[pa.RecordBatch]:
        yield from self._session.send_query(self._select("1"), "Arrow").record_batch()

    def contents(self) -> Contents:
        alive = f"{_UNTIL_US} > {as_of_us(self._slot)}"
        mix = MIX.format(until_us=_UNTIL_US)
        row = self._arrow(
            f"SELECT count() AS n, countIf({alive}) AS live, sumIf(id, {alive}) AS ids, sumIf({mix}, {alive}) AS mix, "
            f"min(intDiv({_UNTIL_US} - 1, {INTERVAL_US})) AS first FROM bench.t"
        ).to_pylist()[0]
        parts = self._arrow(
            "SELECT sum(bytes_on_disk) AS bytes, count() AS parts FROM system.parts "
            "WHERE database = 'bench' AND table = 't' AND active"
        ).to_pylist()[0]
        return Contents(
            live=Summary(row["live"], row["ids"], row["mix"]),
            files=parts["parts"],
            rows=row["n"],
            bytes=parts["bytes"],
            dead_bytes=round(parts["bytes"] * (row["n"] - row["live"]) / max(1, row["n"])),
            oldest_dead=max(0, self._slot + 1 - row["first"]) if row["first"] <= self._slot else 0,
        )

    def files(self) -> list[str]:
        return [path for path in sizes_below(self._folder) if path.endswith((".bin", ".mrk2", ".cmrk2", ".idx"))]

    def written_bytes(self) -> int | None:
        return written_by_process()

    def close(self) -> None:
        if hasattr(self, "_session"):
            self._run("DROP DATABASE bench")
            self._session.close()

    def _run(self, statement: str) -> None:
        self._session.query(statement)

    def _arrow(self, query: str) -> pa.Table:
        return pa.ipc.open_file(pa.py_buffer(self._session.query(query, "Arrow").bytes())).read_all()

    def _select(self, condition: str) -> str:
        return f"SELECT {_COLUMNS} FROM bench.t WHERE ({condition}) AND {_UNTIL_US} > {as_of_us(self._slot)}"


def _ttl(moment_us: int) -> str:
    """Gone long ago if expired by a moment, else never."""
    return f"if({_UNTIL_US} <= {moment_us}, toDateTime(1), toDateTime(4000000000))"
