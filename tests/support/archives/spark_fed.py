"""An archive of events that Spark feeds and moves: batches are files, judged and written as those of any source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.archives.local_archive import MINUTE_US, Event, LocalArchive
from tidewheel.archive import Archive
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.attempt import Outcome
from tidewheel.hands import archive_job
from tidewheel.indexing.core.guards import Confirmations
from tidewheel.indexing.core.layouts import Strategy
from tidewheel.jobs.update import update
from tidewheel.resolve import resolve

FILE = """
[archive]
name = "m"
path = "../table"
key = ["k"]
inserted_at = "i"
expires_at = "u"
clock = "data"
[time]
interval = "1m"
max_lifetime = "{span}m"
[layout]
insertion_classes = 1
expiration_classes = 3
strategy = "expire_rebuild"
runs_max = 4
[source]
format = "parquet"
path = "../source/{{slot}}.parquet"
schema = "k string, r bigint, v bigint, x double, t timestamp, i timestamp, u timestamp"
[retention]
grace = "{grace_us}us"
vacuum_period = "{grace_us}us"
log = "10h"
quarantine = "1h"
"""
EVERYTHING = Confirmations(allow_future=True, allow_jump=True, allow_shrink=True, allow_many=True)


class SparkFedArchive(LocalArchive):
    """The same, fed by Spark."""

    @property
    def file(self) -> Path:
        return self.folder / "archives" / "m.toml"

    @property
    def job(self) -> ArchiveJob:
        target = resolve(self.file)
        assert target.file is not None
        return archive_job(super().job.location, target.file, clock=lambda: self.now_us)

    def create(self, strategy: Strategy = Strategy.EXPIRE_REBUILD, classes: int = 3) -> SparkFedArchive:
        self.file.parent.mkdir(parents=True)
        (self.folder / "source").mkdir()
        self.file.write_text(FILE.format(span=self.span, grace_us=self.grace_us), encoding="utf-8")
        self._write(0, [])
        Archive(resolve(self.file), clock=lambda: self.now_us).create(self.axis.name(0))
        return self

    def update(self, batches: Mapping[int, Sequence[Event]]) -> Outcome:
        for slot, events in batches.items():
            self._write(slot, events)
        return update(self.job, list(batches), confirmed=EVERYTHING)

    def _write(self, slot: int, events: Sequence[Event]) -> None:
        times = pa.timestamp("us", "UTC")
        columns = {
            "k": pa.array([one.k for one in events], pa.string()),
            "r": pa.array([one.r for one in events], pa.int64()),
            "v": pa.array([one.v for one in events], pa.int64()),
            "x": pa.array([one.x for one in events], pa.float64()),
            "t": pa.array([one.t_us for one in events], times),
            "i": pa.array([slot * MINUTE_US for _ in events], times),
            "u": pa.array([one.until_us for one in events], times),
        }
        pq.write_table(pa.table(columns), self.folder / "source" / f"{slot}.parquet")
