"""Small real archives of events, fed without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.archives.feeding import create, feed
from tests.support.archives.columns import column
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.attempt import Outcome
from tidewheel.commits.clock import now_us
from tidewheel.hands import archive_job
from tidewheel.indexing.core.definition import Clock, Definition, Retention
from tidewheel.indexing.core.layouts import Generation, Layout, LayoutKind, Strategy
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.local.rows import file_schema
from tidewheel.storage.location import Location

MINUTE_US = 60_000_000
FIELDS = [
    column("k", "string"),
    column("r", "long"),
    column("v", "long"),
    column("x", "double"),
    column("t", "timestamp"),
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
    key: tuple[str, ...] = ("k",)
    clock: Clock = Clock.DATA
    url: str = ""  # where the table lies, if not in the folder

    @property
    def job(self) -> ArchiveJob:
        return archive_job(Location.of(self.url or self.folder / "table"), clock=lambda: self.now_us)

    def create(self, strategy: Strategy = Strategy.EXPIRE_REBUILD, classes: int = 3) -> LocalArchive:
        layout = Layout(LayoutKind.ROUND_ROBIN, 1, classes, self.span)
        definition = Definition(
            name="m",
            key=self.key,
            axis=self.axis,
            max_lifetime_us=self.span * self.axis.interval_us,
            clock=self.clock,
            generations=(Generation(0, layout, strategy, runs_max=4),),
            retention=Retention(self.grace_us, self.grace_us, 10 * self.grace_us, self.grace_us),
            salt="salt",
        )
        create(self.job, FIELDS, definition)
        return self

    def update(self, batches: Mapping[int, Sequence[Event]]) -> Outcome:
        events = [(slot, event) for slot, batch in batches.items() for event in batch]
        return feed(self.job, batches, _table(events, file_schema(self.job.snapshot()), self.axis))


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
