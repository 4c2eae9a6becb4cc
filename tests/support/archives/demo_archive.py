"""The archive of the demonstration, fed from its stream without Spark."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from pathlib import Path

import pyarrow as pa
from deltalake import Schema

from benchmarks.archives.feeding import create, feed
from tidewheel.commits.archive import ArchiveJob
from tidewheel.demo.flow_stream import FlowStream
from tidewheel.hands import archive_job
from tidewheel.indexing.core.definition import ArchiveFile
from tidewheel.indexing.core.slots import micros
from tidewheel.resolve import resolve
from tidewheel.storage.location import Location

ROOT = Path(__file__).parents[3]
LIVES = {"free": timedelta(minutes=10), "paid": timedelta(minutes=90), "audit": timedelta(hours=3)}
ROWS = 60
FIRST_US = 1_763_438_400_000_000


@dataclass
class DemoArchive:
    """What `tidewheel demo` leaves, but for its scenes, as far as it was fed."""

    folder: Path
    slots_fed: int = 0

    def feed(self, slots: int) -> None:
        """So many more slots."""
        stream = FlowStream(self._file.axis, ROWS)
        first = self._file.axis.slot_of(FIRST_US)
        if not self.slots_fed:
            create(self._job, list(Schema.from_arrow(stream.batch(first).schema).fields), self._file.definition("salt"))
        for slot in range(first + self.slots_fed, first + self.slots_fed + slots):
            feed(self._job, [slot], self._rows(stream, slot))
        self.slots_fed += slots

    def _rows(self, stream: FlowStream, slot: int) -> pa.Table:
        rows = stream.batch(slot)
        rows = rows.filter(pa.array([plan in LIVES for plan in rows.column("plan").to_pylist()]))
        ends = zip(rows.column("flow_start").to_pylist(), rows.column("plan").to_pylist(), strict=True)
        untils = [start + LIVES[plan] for start, plan in ends]
        added = {
            "ins_slot": pa.array([slot] * rows.num_rows, pa.int64()),
            "exp_slot": pa.array([self._file.axis.expiration_slot_of(micros(at)) for at in untils], pa.int64()),
            "valid_until": pa.array(untils, pa.timestamp("us", "UTC")),
            "row_hash": pa.array(range(rows.num_rows), pa.int64()),
        }
        for name, column in added.items():
            rows = rows.append_column(name, column)
        return rows

    @cached_property
    def _file(self) -> ArchiveFile:
        (self.folder / "archives").mkdir()
        shutil.copy(ROOT / "tidewheel" / "netflow.toml", self.folder / "archives" / "netflow.toml")
        file = resolve(self.folder / "archives" / "netflow.toml").file
        assert file is not None
        return file

    @cached_property
    def _job(self) -> ArchiveJob:
        return archive_job(Location.of(self._file.path))
