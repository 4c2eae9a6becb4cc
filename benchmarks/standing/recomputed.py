"""DuckDB, recomputing each query from Parquet: what needs no preparation at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.standing.goals import RECOMPUTED
from benchmarks.standing.rival import Rival, stored
from benchmarks.standing.stream import AXIS, due
from tidewheel.queries.standing.query import Query


class Recomputed(Rival):
    name = RECOMPUTED
    catches_up = False
    setting = "a file per slot sorted as it arrives, those outside the window left out by name; all cores"

    def __init__(self, folder: Path, asked: Sequence[Query]) -> None:
        super().__init__(folder, asked)
        self.connection = duckdb.connect(":memory:")
        self.connection.execute("SET TimeZone = 'UTC'")
        self._slots: list[int] = []

    def load(self, rows: pa.Table, slots: range) -> None:
        bounds = np.searchsorted(rows.column("ins_slot").to_numpy(), [*slots, slots.stop])
        for slot, start, end in zip(slots, bounds, bounds[1:], strict=False):
            self._put(rows.slice(start, end - start), slot)

    def _put(self, rows: pa.Table, slot: int) -> None:
        pq.write_table(rows, self.folder / f"{slot}.parquet", compression="zstd")
        self._slots = sorted({*self._slots, slot})

    def step(self, rows: pa.Table, slot: int, since_us: int) -> int:
        self._put(rows, slot)
        return self._answer(slot, since_us)

    def correct(self, rows: pa.Table, slots: range, slot: int, since_us: int) -> int:
        self.load(rows, slots)
        return self._answer(slot, since_us)

    def _answer(self, slot: int, since_us: int) -> int:
        self.found = [
            (query, at_us, self.connection.sql(self._sql(query, at_us)).to_arrow_table())
            for query, at_us in due(self.asked, since_us, AXIS.end_us(slot))
        ]
        return stored(self.folder / f"answers-{slot}.parquet", self.found)

    def _sql(self, query: Query, at_us: int) -> str:
        assert query.terms.window_us is not None
        first_us = at_us - query.terms.window_us
        # A late record lies in a later file.
        first = AXIS.slot_of(first_us)
        files = [f"'{self.folder / f'{slot}.parquet'}'" for slot in self._slots if slot >= first]
        columns = [*(one.name for one in query.groups), *(_plain(query, number) for number in range(len(query.calls)))]
        conditions = [f"moment >= make_timestamptz({first_us})", f"moment < make_timestamptz({at_us})"]
        conditions += [f"({query.where})"] if query.where else []
        return (
            f"SELECT {', '.join(columns)} FROM read_parquet([{', '.join(files)}]) "
            f"WHERE {' AND '.join(conditions)} GROUP BY ALL"
        )


def _plain(query: Query, number: int) -> str:
    call = query.calls[number]
    return "count(*)" if call.aggregate == "count_rows" else f"{call.aggregate}({call.arguments[0]})"
