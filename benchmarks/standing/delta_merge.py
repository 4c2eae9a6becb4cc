"""A Delta roll-up that MERGE keeps, read by DuckDB; answers appended to a Delta table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from benchmarks.standing import roll_up_sql as sql
from benchmarks.standing.rival import Rival, told
from benchmarks.standing.rolled_up import RolledUpTogether, by
from benchmarks.standing.stream import AXIS, GROUPS, due
from tidewheel.queries.standing.query import Query

_ADDED, _MOST, _LEAST = ("n", "sv", "sx", "nx"), "hi", "lo"


class DeltaMerge(RolledUpTogether):
    name = "Delta, roll-up kept by MERGE and one SELECT per group-by"
    setting = (
        "delta-rs without Spark; a table for each group-by, MERGE with a bound on 5 minutes so that few files are "
        "looked at; DuckDB reads its files, filtered aggregates of one scan, window expressions for many reports; "
        "answers appended to a Delta table for each kind of row"
    )
    sizes = ("standard", "full")

    def __init__(self, folder: Path, asked: Sequence[Query]) -> None:
        Rival.__init__(self, folder, asked)
        self.connection = duckdb.connect(":memory:")
        self.connection.execute("SET TimeZone = 'UTC'")

    def _uri(self, number: int) -> str:
        return str(self.folder / f"rolled_{number}")

    def load(self, rows: pa.Table, slots: range) -> None:
        self.connection.register("rows", rows)
        for number, groups in enumerate(GROUPS):
            rolled = sql.rolled(number, "rows", f"epoch_us(moment) // {AXIS.interval_us}")
            text = f"SELECT * REPLACE (CAST(sv AS BIGINT) AS sv) FROM ({rolled})"
            new = self.connection.sql(text).to_arrow_table()
            if DeltaTable.is_deltatable(self._uri(number)):
                self._merge(number, new, groups)
            else:
                write_deltalake(self._uri(number), new)

    def _merge(self, number: int, new: pa.Table, groups: Sequence[str]) -> None:
        buckets = new.column("bucket").to_pylist()
        if not buckets:
            return
        same = " AND ".join(f"t.{one} = s.{one}" for one in ("bucket", *groups, "holds"))
        updates = {name: f"t.{name} + s.{name}" for name in _ADDED}
        updates |= {_MOST: f"greatest(t.{_MOST}, s.{_MOST})", _LEAST: f"least(t.{_LEAST}, s.{_LEAST})"}
        table = DeltaTable(self._uri(number))
        bound = f"t.bucket >= {min(buckets)} AND t.bucket <= {max(buckets)}"
        merge = table.merge(new, f"{bound} AND {same}", source_alias="s", target_alias="t")
        merge.when_matched_update(updates).when_not_matched_insert_all().execute()

    def step(self, rows: pa.Table, slot: int, since_us: int) -> int:
        self.load(rows, range(slot, slot + 1))
        return self._answer(slot, since_us)

    def correct(self, rows: pa.Table, slots: range, slot: int, since_us: int) -> int:
        for number in range(len(GROUPS)):
            DeltaTable(self._uri(number)).delete(f"bucket >= {slots.start} AND bucket < {slots.stop}")
        return self.step(rows, slot, since_us)

    def _answer(self, slot: int, since_us: int) -> int:
        for number in range(len(GROUPS)):
            files = ", ".join(f"'{one}'" for one in DeltaTable(self._uri(number)).file_uris())
            self.connection.execute(f"CREATE OR REPLACE TEMP VIEW rolled_{number} AS FROM read_parquet([{files}])")
        self.found = self.asked_of(list(due(self.asked, since_us, AXIS.end_us(slot))))
        return self.kept()

    def kept(self) -> int:
        """Appended, a table for each kind of row: what was given again is the newest."""
        total = 0
        for columns, same in by(self.found, lambda one: sql.shape_of(one[0])):
            rows = pa.concat_tables([told(*one) for one in same], promote_options="permissive")
            fields = [(one.name, pa.int64() if pa.types.is_decimal(one.type) else one.type) for one in rows.schema]
            uri = str(self.folder / ("answers_" + "_".join(columns)))
            write_deltalake(uri, rows.cast(pa.schema(fields)), mode="append")
            total += rows.num_rows
        return total
