"""A contender of the race of standing queries, and what contenders share.

It takes slots (`load`, `step`) and corrections (`correct`) in a folder of its own, stores its answers durably each
time, and tells what it answered (`answers`), which is compared and not timed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.harness.contender import Unavailable
from benchmarks.standing.oracle import Answers, answers_of
from tidewheel.queries.standing.query import Query

__all__ = ["Found", "Rival", "Unavailable"]
# What was answered: a query, its report (negative: `rows` has a column `report`), groups and outputs in order.
Found = list[tuple[Query, int, pa.Table]]


class Rival(ABC):
    """One way to keep the answers of the queries up to date."""

    name: str
    setting: str
    catches_up = True  # whether it is asked for all reports of a day at once, too
    sizes: tuple[str, ...] = ("quick", "standard", "full")
    slots_max = 1000  # how many slots are measured, the last of them

    def __init__(self, folder: Path, asked: Sequence[Query]) -> None:
        folder.mkdir(parents=True)
        self.folder, self.asked = folder, [query for query in asked if self.takes(query)]
        self.found: Found = []

    @classmethod
    def takes(cls, query: Query) -> bool:
        """Whether it can answer a query at all."""
        return True

    @abstractmethod
    def load(self, rows: pa.Table, slots: range) -> None:
        """Take slots that nobody asks about yet."""

    @abstractmethod
    def step(self, rows: pa.Table, slot: int, since_us: int) -> int:
        """Take a slot and give every answer after a moment, durably; how many rows that wrote."""

    @abstractmethod
    def correct(self, rows: pa.Table, slots: range, slot: int, since_us: int) -> int:
        """Take these rows for all that some slots ever brought, and give every answer after a moment, as of a slot."""

    def answers(self) -> Answers:
        """What the last step answered."""
        return answers_of(self.found)

    def close(self) -> None:
        """Let go of what is open; the folder is deleted afterwards."""
        return


def told(query: Query, at_us: int, table: pa.Table) -> pa.Table:
    """Answers as they are stored: with the query, the report, and outputs by place."""
    names = [*(one.name for one in query.groups), *(f"v{number}" for number in range(len(query.calls)))]
    reports = table.column("report") if at_us < 0 else pa.array([at_us] * table.num_rows, pa.int64())
    columns = {name: table.column(number) for number, name in enumerate(names)}
    return pa.table({"query": pa.array([query.name] * table.num_rows), "report": reports.cast(pa.int64()), **columns})


def stored(path: Path, found: Found) -> int:
    """Answers in one Parquet file; how many rows it has."""
    if not found:
        return 0
    whole = pa.concat_tables([told(*one) for one in found], promote_options="permissive")
    pq.write_table(whole, path, compression="zstd")
    return int(whole.num_rows)
