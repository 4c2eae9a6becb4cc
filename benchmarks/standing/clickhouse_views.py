"""Embedded ClickHouse: materialised views keep roll-ups as records come in; queries read those."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.standing import roll_up_sql as sql
from benchmarks.standing.rival import Rival, Unavailable, told
from benchmarks.standing.rolled_up import RolledUpTogether, by
from benchmarks.standing.stream import AXIS, GROUPS, due
from tidewheel.queries.standing.query import Query

_KEPT = {"n": "sum", "sv": "sum", "hi": "max", "lo": "min", "sx": "sum", "nx": "sum"}
_TYPES = {"key": "LowCardinality(String)", "region": "Int64", "protocol": "Int64"}
# An aggregate of nothing is NULL, as in standard SQL; a date of a join without a match, too.
_SETTINGS = "SETTINGS aggregate_functions_null_for_empty = 1, join_use_nulls = 1"


class ClickHouseViews(RolledUpTogether):
    name = "ClickHouse, incremental materialised views and one SELECT per group-by"
    setting = (
        "embedded (chdb); a view for each group-by into AggregatingMergeTree with SimpleAggregateFunction columns, "
        "sorted by 5 minutes and group; filtered aggregates of one scan, window expressions for many reports; answers "
        "into MergeTree; a correction deletes by lightweight DELETE"
    )
    sizes = ("standard", "full")

    def __init__(self, folder: Path, asked: Sequence[Query]) -> None:
        Rival.__init__(self, folder, asked)
        try:
            from chdb.session import Session
        except ImportError as error:
            raise Unavailable(f"{error}; to race it: uv pip install --group rivals") from error
        self.session: Any = Session(str(folder / "clickhouse"))
        self.run("CREATE DATABASE IF NOT EXISTS race")
        self.run("USE race")
        self.create()

    def run(self, text: str) -> None:
        self.session.query(text)

    def create(self) -> None:
        columns = "moment DateTime64(6, 'UTC'), key String, region Int64, protocol Int64, v Int64, x Float64"
        self.run(f"CREATE TABLE rows ({columns}) ENGINE = Null")
        for number, groups in enumerate(GROUPS):
            listed = "".join(f"{one} {_TYPES[one]}, " for one in groups)
            kept = ", ".join(
                f"{name} SimpleAggregateFunction({fold}, {'Float64' if name == 'sx' else 'Int64'})"
                for name, fold in _KEPT.items()
            )
            order = ", ".join(["bucket", *groups, "holds"])
            self.run(
                f"CREATE TABLE rolled_{number} (bucket Int64, {listed}holds Int32, {kept}) "
                f"ENGINE = AggregatingMergeTree ORDER BY ({order})"
            )
            rolled = sql.rolled(number, "rows", f"intDiv(toUnixTimestamp64Micro(moment), {AXIS.interval_us})")
            self.run(f"CREATE MATERIALIZED VIEW view_{number} TO rolled_{number} AS {rolled}")

    def load(self, rows: pa.Table, slots: range) -> None:
        path = self.folder / "rows.parquet"
        names = ["moment", "key", "region", "protocol", "v", "x"]
        pq.write_table(rows.select(names), path)  # how records come in
        self.run(f"INSERT INTO rows SELECT {', '.join(names)} FROM file('{path}', Parquet)")

    def step(self, rows: pa.Table, slot: int, since_us: int) -> int:
        self.load(rows, range(slot, slot + 1))
        return self._answer(slot, since_us)

    def correct(self, rows: pa.Table, slots: range, slot: int, since_us: int) -> int:
        for number in range(len(GROUPS)):
            self.run(f"DELETE FROM rolled_{number} WHERE bucket BETWEEN {slots.start} AND {slots.stop - 1}")
        return self.step(rows, slot, since_us)

    def _answer(self, slot: int, since_us: int) -> int:
        self.found = self.asked_of(list(due(self.asked, since_us, AXIS.end_us(slot))))
        return self.kept()

    def rows_of(self, text: str) -> pa.Table:
        found = self.session.query(f"{text} {_SETTINGS}", "Arrow").bytes()
        table = pa.ipc.open_file(pa.py_buffer(found)).read_all()
        return _plain(table)

    def made(self, name: str, text: str) -> None:
        self.run(f"DROP TABLE IF EXISTS {name}")
        self.run(f"CREATE TABLE {name} ENGINE = Memory AS {text} {_SETTINGS}")

    def buckets(self, low: int, high: int) -> str:
        return f"(SELECT toInt64(number) AS bucket FROM numbers({low}, {high - low}))"

    def kept(self) -> int:
        """Appended, a table for each kind of row: what was given again is the newest."""
        total = 0
        for columns, same in by(self.found, lambda one: sql.shape_of(one[0])):
            table, path = "answers_" + "_".join(columns), self.folder / "told.parquet"
            rows = pa.concat_tables([told(*one) for one in same], promote_options="permissive")
            pq.write_table(rows, path)
            self.run(
                f"CREATE TABLE IF NOT EXISTS {table} ENGINE = MergeTree ORDER BY (query, report) SETTINGS "
                f"allow_nullable_key = 1 EMPTY AS SELECT * FROM file('{path}', Parquet)"
            )
            self.run(f"INSERT INTO {table} SELECT * FROM file('{path}', Parquet)")
            total += rows.num_rows
        return total

    def close(self) -> None:
        self.run("DROP DATABASE race")
        self.session.close()


def _plain(table: pa.Table) -> pa.Table:
    """Texts as texts, whatever they are made of."""
    columns = []
    for column in table.columns:
        kind = column.type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        columns.append(column.cast(pa.string() if pa.types.is_binary(kind) else kind))
    return pa.Table.from_arrays(columns, names=table.column_names)
