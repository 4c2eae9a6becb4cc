"""tidewheel itself: any layout, strategy, G×E and bounds, through its own update and its own reader."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from benchmarks.archives.stream import INTERVAL_US, SPARK_SCHEMA, as_of_us
from benchmarks.harness.contender import Course, Family
from benchmarks.harness.file_contender import FileContender
from benchmarks.harness.parquet_reader import DataFile, ParquetReader
from tidewheel.hands import archive_job
from tidewheel.indexing.core.definition import ArchiveFile, Clock, Policy, Retention, Schedule, Source, SourceKind
from tidewheel.indexing.core.guards import Confirmations
from tidewheel.indexing.core.layouts import Generation, Layout, LayoutKind, Strategy
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.jobs.create import create
from tidewheel.jobs.update import update
from tidewheel.sql.reader import Reader
from tidewheel.storage.location import Location

HOUR_US = 3600 * 1_000_000
EVERYTHING = Confirmations(allow_future=True, allow_jump=True, allow_shrink=True)
UNBOUNDED = 100_000


class Ours(FileContender):
    """An archive with one layout and strategy."""

    family = Family.OURS

    def __init__(
        self,
        name: str,
        label: str,
        strategy: Strategy,
        insertion_classes: int,
        expiration_classes: int,
        *,
        kind: LayoutKind = LayoutKind.ROUND_ROBIN,
        dead_share_max: float = 0.5,
        runs_max: int = 16,
        note: str = "",
    ) -> None:
        self.name, self.label, self.note = name, label, note
        self.kind, self.strategy = kind, strategy
        self.classes = (insertion_classes, expiration_classes)
        self.bounds = {"dead_share_max": dead_share_max, "runs_max": runs_max}
        by_slot = strategy is Strategy.EXPIRE_REBUILD and expiration_classes > 12 * insertion_classes
        appends = strategy is Strategy.NO_REBUILD or by_slot
        # What appends builds up runs for a whole span; what turns a column per update is steady after all have turned.
        self.load_each = 1 if appends else 0
        self.settle = 2 if appends or strategy is Strategy.REBUILD else expiration_classes

    def updates_measured(self, updates: int, span: int) -> int:
        """What only appends folds now and then: between two folds lie many updates, but not a span of them."""
        folds = self.strategy is Strategy.NO_REBUILD and self.bounds["runs_max"] < UNBOUNDED
        return max(updates, span) if folds else updates

    def generation(self, span: int) -> Generation:
        return Generation(0, Layout(self.kind, *self.classes, span), self.strategy, **self.bounds)  # type: ignore[arg-type]

    def create(self, course: Course) -> None:
        location = Location.of(course.folder / "table")
        self._job = archive_job(location, self._file(course, location))
        create(self._job)

    def update(self, slots: Sequence[int]) -> dict[str, Any]:
        outcome = update(self._job, slots, confirmed=EVERYTHING)
        receipt = outcome.receipt
        if receipt is None:
            raise RuntimeError(f"{self.name}: the update of {slots} did nothing")
        return {
            "timings_ms": dict(receipt.timings_ms),
            "touched": len(receipt.subindices_touched),
            "rows_rewritten": receipt.rows_rewritten,
            "rows_stored": sum(slot.stored for slot in receipt.slots),
            "read_bytes": receipt.bytes_removed - receipt.bytes_dropped,
            "data_bytes": receipt.bytes_added,
        }

    def refresh(self, slot: int) -> None:
        if not hasattr(self, "_handle"):
            self._handle = Reader.open(self._job.location, now_us=lambda: as_of_us(slot))
            self._reader = ParquetReader()
        self._handle.refresh()
        self._reader.refresh(self.data_files(), slot)

    def probe(self, key: int) -> pa.Table:
        return self._handle.probe(key).arrow()

    def probe_range(self, low: int, high: int) -> pa.Table:
        return self._handle.probe_range(low, high).arrow()

    def scan(self) -> Iterator[pa.RecordBatch]:
        yield from self._handle.scan().batches()

    def data_files(self) -> list[DataFile]:
        location = self._job.location
        return [DataFile(location.child(file.path)) for file in self._handle.snapshot.files]

    def close(self) -> None:
        super().close()
        if hasattr(self, "_handle"):
            self._handle.close()

    def _file(self, course: Course, location: Location) -> ArchiveFile:
        return ArchiveFile(
            name=self.name,
            path=location.uri,
            key=("key",),
            expires_at="until",
            inserted_at="ins",
            clock=Clock.DATA,
            axis=TimeAxis(INTERVAL_US),
            max_lifetime_us=course.span * INTERVAL_US,
            generation=self.generation(course.span),
            source=Source(SourceKind.FILES, format="parquet", path=course.source.template, schema=SPARK_SCHEMA),
            policy=Policy(),
            retention=Retention(24 * HOUR_US, HOUR_US, 7 * 24 * HOUR_US, 24 * HOUR_US),
            schedule=Schedule(),
        )
