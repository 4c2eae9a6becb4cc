"""Real archives fed without Spark: the protocol, the ledger and the files are the product's, the judging is not.

What a batch brings is placed by the plan of an update and written by this process. Records that are dead when they come
are counted and not stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import Field
from deltalake.schema import PrimitiveType

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.attempt import Outcome, attempt
from tidewheel.commits.clock import now_us
from tidewheel.commits.commit import create_table
from tidewheel.commits.operation import Lap, Operation, Try
from tidewheel.commits.receipt import receipt_of
from tidewheel.commits.work import Work
from tidewheel.commits.written import NOTHING_WRITTEN, read_back
from tidewheel.hands import archive_job
from tidewheel.indexing.definition import Clock, Definition, Retention
from tidewheel.indexing.fates import DEAD_ON_ARRIVAL
from tidewheel.indexing.layouts import Generation, Layout, LayoutKind, Strategy
from tidewheel.indexing.plan import Plan, plan_update
from tidewheel.indexing.receipts import Operation as Kind
from tidewheel.indexing.receipts import Receipt
from tidewheel.indexing.slots import TimeAxis
from tidewheel.local.new_files import write_rows
from tidewheel.local.rows import file_schema, rows_of
from tidewheel.storage.location import Location

MINUTE_US = 60_000_000
FIELDS = [
    Field("k", PrimitiveType("string")),
    Field("r", PrimitiveType("long")),
    Field("v", PrimitiveType("long")),
    Field("x", PrimitiveType("double")),
    Field("t", PrimitiveType("timestamp")),
]


@dataclass(frozen=True)
class Event:
    """One record: its columns, and how long it lives."""

    k: str
    v: int
    t_us: int
    until_us: int
    r: int = 0
    x: float | None = None


@dataclass
class LocalArchive:
    """An archive in a folder, with a clock moved by hand."""

    folder: Path
    span: int = 6
    axis: TimeAxis = field(default_factory=lambda: TimeAxis(MINUTE_US))
    now_us: int = field(default_factory=now_us)
    grace_us: int = 3600 * 1_000_000

    @property
    def job(self) -> ArchiveJob:
        return archive_job(Location.of(self.folder / "table"), clock=lambda: self.now_us)

    def create(self, strategy: Strategy = Strategy.EXPIRE_REBUILD, classes: int = 3) -> LocalArchive:
        layout = Layout(LayoutKind.ROUND_ROBIN, 1, classes, self.span)
        definition = Definition(
            name="m",
            key=("k",),
            axis=self.axis,
            max_lifetime_us=self.span * self.axis.interval_us,
            clock=Clock.DATA,
            generations=(Generation(0, layout, strategy, runs_max=4),),
            retention=Retention(self.grace_us, self.grace_us, 10 * self.grace_us, self.grace_us),
            salt="salt",
        )
        create_table(self.job.location, FIELDS, definition, Receipt(Kind.INIT, "init", 0, None, 0, self.now_us))
        return self

    def update(self, batches: Mapping[int, Sequence[Event]]) -> Outcome:
        return attempt(self.job, _Bring(batches))


@dataclass
class _Bring(Operation):
    batches: Mapping[int, Sequence[Event]]

    def plan(self, one: Try) -> Plan:
        return plan_update(one.state, self.batches)

    def work(self, one: Try, plan: Plan, folder: str, lap: Lap) -> Work:
        schema, axis = file_schema(one.snapshot), one.state.definition.axis
        assert plan.watermark is not None
        fresh, fates = [], {}
        for slot, events in self.batches.items():
            stored = [event for event in events if axis.expiration_slot_of(event.until_us) > plan.watermark]
            fates[(slot, DEAD_ON_ARRIVAL)] = len(events) - len(stored)
            fresh += [(slot, event) for event in stored]
        sources = [change.file for change in plan.rewritten]
        kept = schema.empty_table()
        if sources:
            stays = (pc.field("exp_slot") > plan.watermark) & ~pc.field("ins_slot").isin(list(self.batches))
            kept = rows_of(one.job.location, sources, schema).to_table(filter=stays)
        rows = pa.concat_tables([kept, _table(fresh, schema, axis)])
        if rows.num_rows:
            write_rows(one, plan, rows, folder)
        written = read_back(one.job.location, folder, one.state.definition) if rows.num_rows else NOTHING_WRITTEN
        return Work(plan, folder, replace(written, fates=fates))

    def receipt(self, one: Try, plan: Plan, work: Work, timings_ms: Mapping[str, int]) -> Receipt:
        return receipt_of(one.job, one.state, plan, work, one.attempt, timings_ms)


def _table(events: Sequence[tuple[int, Event]], schema: pa.Schema, axis: TimeAxis) -> pa.Table:
    times = pa.timestamp("us", "UTC")
    columns: dict[str, Any] = {
        "k": pa.array([one.k for _, one in events], pa.string()),
        "r": pa.array([one.r for _, one in events], pa.int64()),
        "v": pa.array([one.v for _, one in events], pa.int64()),
        "x": pa.array([one.x for _, one in events], pa.float64()),
        "t": pa.array([one.t_us for _, one in events], times),
        "ins_slot": pa.array([slot for slot, _ in events], pa.int64()),
        "exp_slot": pa.array([axis.expiration_slot_of(one.until_us) for _, one in events], pa.int64()),
        "valid_until": pa.array([one.until_us for _, one in events], times),
        "row_hash": pa.array([hash((slot, one)) % (1 << 63) for slot, one in events], pa.int64()),
    }
    return pa.table({name: columns[name].cast(schema.field(name).type) for name in schema.names}, schema=schema)
