"""What the Delta rivals share: a table written by Spark in the best known way, its file list read with delta-rs.

They get what our own files get where Delta lets them choose: zstd, timestamps with min/max, rows sorted by key
within a file, an explicit schema for the source, one table handle that stays open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, ClassVar

import pyarrow as pa
from delta.tables import DeltaTable
from deltalake import DeltaTable as LogReader
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.archives.stream import INTERVAL_US, SPARK_SCHEMA, as_of_us
from benchmarks.harness.contender import Course, Family
from benchmarks.harness.file_contender import FileContender
from benchmarks.harness.parquet_reader import DataFile

EXPIRATION = f"cast(floor((unix_micros(until) - 1) / {INTERVAL_US}) as bigint)"
# What only the session can say to Delta's writer, while such a contender runs.
SETTINGS = {
    "spark.sql.parquet.compression.codec": "zstd",
    # Else the union of a task for each slot is one task, and a load leaves fewer files than its updates would.
    "spark.sql.unionOutputPartitioning": "false",
    # Spark's default: what Delta rewrites is written in the pieces in which it was read, and ours are small.
    "spark.sql.files.maxPartitionBytes": "128m",
}


class DeltaContender(FileContender):
    """A Delta table that Spark writes; subclasses say how a batch comes in and how expired records go."""

    family = Family.RIVAL
    partitioned = False
    properties: ClassVar[dict[str, str]] = {}
    optimize_every = 0

    def create(self, course: Course) -> None:
        self._course = course
        self._spark = course.spark
        self._path = str(course.folder / "table")
        self._updates = 0
        self._settings_before = {name: self._spark.conf.get(name) for name in SETTINGS}
        self._set(SETTINGS)
        builder = DeltaTable.create(self._spark).location(self._path)
        for column in SPARK_SCHEMA.split(", "):
            name, kind = column.split(" ")
            builder = builder.addColumn(name, kind)
        if self.partitioned:
            builder = builder.addColumn("exp_slot", "bigint").partitionedBy("exp_slot")
        for name, value in self.properties.items():
            builder = builder.property(name, value)
        self._table = builder.execute()

    def close(self) -> None:
        super().close()
        self._set(self._settings_before)

    def load(self, slots: Sequence[int]) -> None:
        super().load(slots)
        self._updates = 0

    def update(self, slots: Sequence[int]) -> dict[str, Any]:
        self._append(slots)
        self._expire(slots[-1])
        self._updates += 1
        if self.optimize_every and self._updates % self.optimize_every == 0:
            self._optimize()
        return {}

    def data_files(self) -> list[DataFile]:
        table = LogReader(self._path)
        adds = pa.table(table.get_add_actions(flatten=True))
        if adds.num_rows == 0:
            return []
        paths = adds.column("path").to_pylist()
        bounds = [
            adds.column(name).to_pylist() if name in adds.column_names else [None] * len(paths)
            for name in ("min.key", "max.key")
        ]
        return [DataFile(f"{self._path}/{path}", *keys) for path, *keys in zip(paths, *bounds, strict=True)]

    def _set(self, settings: Mapping[str, str]) -> None:
        for name, value in settings.items():
            self._spark.conf.set(name, value)

    def _append(self, slots: Sequence[int]) -> None:
        """One commit of what outlives its own update, sorted by key."""
        batch = self._batch(slots)
        if self.partitioned:
            batch = batch.withColumn("exp_slot", F.expr(EXPIRATION))
            if len(slots) == 1:  # both cores write, and still one file for each partition
                batch = batch.repartition("exp_slot")
            batch = batch.sortWithinPartitions("exp_slot", "key")
        else:
            batch = batch.sortWithinPartitions("key")
        batch.write.format("delta").mode("append").save(self._path)

    def _batch(self, slots: Sequence[int]) -> DataFrame:
        """The source with one task per slot, so that each slot makes its own files also when many are loaded."""
        source = self._course.source
        frames = [self._spark.read.schema(SPARK_SCHEMA).parquet(source.path(slot)) for slot in slots]
        if len(frames) > 1:
            frames = [frame.coalesce(1) for frame in frames]
        whole: DataFrame = reduce(DataFrame.unionAll, frames)
        return whole.where(f"until > timestamp_micros({as_of_us(slots[-1])})")

    def _expire(self, slot: int) -> None:
        """A second commit: Delta has none that does both."""
        self._table.delete(f"until <= timestamp_micros({as_of_us(slot)})")

    def _optimize(self) -> None:
        self._table.optimize().executeCompaction()
