"""Spark: a roll-up as Parquet, and window expressions with the segment tree for many reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.standing import roll_up_sql as sql
from benchmarks.standing.rival import Found, Rival
from benchmarks.standing.rolled_up import RolledUpTogether, Wanted, spans
from benchmarks.standing.stream import AXIS, GROUPS, due
from tidewheel.queries.standing.query import Query


class SparkWindows(RolledUpTogether):
    name = "Spark, roll-up and window expressions"
    setting = (
        "a warm session; a roll-up for each group-by as Parquet, a folder for each slot; one report: filtered "
        "aggregates of one scan; many: windows over densified fragments, spark.sql.window.segmentTree.enabled on, as "
        "many shuffle partitions as cores; answers written as Parquet by Spark"
    )
    sizes = ("standard", "full")
    slots_max = 3

    def __init__(self, folder: Path, asked: Sequence[Query]) -> None:
        from tidewheel.jobs.process.session import open_session

        Rival.__init__(self, folder, asked)
        self.spark: Any = open_session("tidewheel benchmarks")
        for name, value in (("spark.sql.window.segmentTree.enabled", "true"), ("spark.sql.shuffle.partitions", "2"),
                            ("spark.sql.session.timeZone", "UTC")):  # fmt: skip
            self.spark.conf.set(name, value)
        self.slots: list[range] = []

    def load(self, rows: pa.Table, slots: range) -> None:
        path = self.folder / f"rows-{slots.start}.parquet"
        pq.write_table(rows.select(["moment", "key", "region", "protocol", "v", "x"]), path)  # how records come in
        self.spark.read.parquet(str(path)).createOrReplaceTempView("rows")
        for number in range(len(GROUPS)):
            rolled = sql.rolled(number, "rows", f"unix_micros(moment) div {AXIS.interval_us}")
            target = str(self.folder / f"rolled_{number}" / f"slot={slots.start}-{len(self.slots)}")
            self.spark.sql(rolled).coalesce(1).write.parquet(target)
        self.slots.append(slots)

    def step(self, rows: pa.Table, slot: int, since_us: int) -> int:
        if rows.num_rows:
            self.load(rows, range(slot, slot + 1))
        return self._answer(slot, since_us)

    def correct(self, rows: pa.Table, slots: range, slot: int, since_us: int) -> int:
        """The folders of these slots are written anew, and so is the first, of many slots."""
        for number in range(len(GROUPS)):
            folder = self.folder / f"rolled_{number}"
            kept = self.spark.read.parquet(str(folder)).where(f"bucket < {slots.start} OR bucket >= {slots.stop}")
            kept.drop("slot").coalesce(1).write.parquet(str(self.folder / f"kept_{number}" / "slot=kept"))
            folder.rename(self.folder / f"gone_{number}_{len(self.slots)}")
            (self.folder / f"kept_{number}").rename(folder)
        return self.step(rows, slot, since_us)

    def _answer(self, slot: int, since_us: int) -> int:
        for number in range(len(GROUPS)):
            self.spark.read.parquet(str(self.folder / f"rolled_{number}")).createOrReplaceTempView(f"rolled_{number}")
        self.answered_slot = slot
        self.found = self.asked_of(list(due(self.asked, since_us, AXIS.end_us(slot))))
        return sum(table.num_rows for _, _, table in self.found)

    def windows(self, table: str, same: Wanted) -> Found:
        asked = list({query.name: query for query, _ in same}.values())
        self.densify(table, asked, same)
        columns = sql.expressions(asked)
        reports = {at_us for _, at_us in same}
        text = f"SELECT * FROM ({sql.slid(asked, columns)}) WHERE report BETWEEN {min(reports)} AND {max(reports)}"
        slid = self.rows_of(text)
        found: Found = []
        for query, first, last in spans(asked, same):
            outputs = [columns[sql.over(query, n)] for n in range(len(query.calls))]
            found.append((query, -1, _taken(slid, query, outputs, columns[sql.there(query)], first, last)))
        return found

    def rows_of(self, text: str) -> pa.Table:
        """Written durably by Spark, and read back."""
        target = str(self.folder / "answers" / f"{self.answered_slot}-{len(self.slots)}-{abs(hash(text))}")
        self.spark.sql(text).write.mode("overwrite").parquet(target)
        return pq.read_table(target)

    def made(self, name: str, text: str) -> None:
        self.spark.sql(text).createOrReplaceTempView(name)

    def buckets(self, low: int, high: int) -> str:
        return f"(SELECT id AS bucket FROM range({low}, {high}))"

    def close(self) -> None:
        self.spark.catalog.clearCache()


def _taken(slid: pa.Table, query: Query, outputs: Sequence[str], present: str, first: int, last: int) -> pa.Table:
    reports, there = slid.column("report").to_numpy(), slid.column(present).fill_null(0).to_numpy() > 0
    is_due = (reports >= first) & (reports <= last) & (reports % query.terms.slide_us == 0)
    return slid.filter(pa.array(is_due & there)).select([*sql.groups_of(query), *outputs, "report"])
