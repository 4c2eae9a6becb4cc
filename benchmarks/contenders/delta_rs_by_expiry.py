"""Delta partitioned by expiration slot, written by delta-rs alone: the clever user who needs no Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable, WriterProperties, write_deltalake

from benchmarks.archives.stream import INTERVAL_US
from benchmarks.harness.contender import Course, Family
from benchmarks.harness.file_contender import FileContender
from benchmarks.harness.parquet_reader import DataFile


class DeltaRsByExpiry(FileContender):
    name = "delta_rs_by_expiry"
    label = "Delta, partitioned by expiration slot, written by delta-rs without Spark"
    family = Family.RIVAL
    load_each = 1

    def create(self, course: Course) -> None:
        self._source = course.source
        self._path = str(course.folder / "table")
        self._writer = WriterProperties(compression="ZSTD")

    def update(self, slots: Sequence[int]) -> dict[str, Any]:
        batch = pa.concat_tables([pq.ParquetFile(self._source.path(slot)).read() for slot in slots])
        micros = batch.column("until").cast(pa.int64())
        batch = batch.append_column("exp_slot", pc.divide(pc.subtract(micros, 1), INTERVAL_US))
        batch = batch.filter(pc.greater(batch.column("exp_slot"), slots[-1]))
        batch = batch.sort_by([("exp_slot", "ascending"), ("key", "ascending")])
        write_deltalake(self._path, batch, mode="append", partition_by=["exp_slot"], writer_properties=self._writer)
        DeltaTable(self._path).delete(f"exp_slot <= {slots[-1]}")
        return {}

    def data_files(self) -> list[DataFile]:
        return [DataFile(path) for path in DeltaTable(self._path).file_uris()]
