"""The yardstick for reads: all live records in one Parquet file, perfectly sorted by key, written as ours are.

As a contender it rewrites everything at each update: the dearest update, the best possible probe and scan. The
same without sorting, Bloom filter and small row groups shows what this directory costs and gains.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.archives.stream import SPARK_SCHEMA, as_of_us
from benchmarks.contenders.our_files import DIRECTORY
from benchmarks.harness.contender import Course, Family
from benchmarks.harness.file_contender import FileContender
from benchmarks.harness.parquet_reader import DataFile


class SortedCopy(FileContender):
    family = Family.YARDSTICK
    off_disk = "with the old copy"
    settle = 0

    def __init__(self, *, indexed: bool = True) -> None:
        self.indexed = indexed
        self.name = "sorted_copy" if indexed else "unsorted_copy"
        self.label = "One perfectly sorted Parquet file with Bloom filter, rewritten each time"
        if not indexed:
            self.label = "The same file unsorted, without Bloom filter and small row groups"

    def create(self, course: Course) -> None:
        self._course = course
        self._folder: Path | None = None

    def update(self, slots: Sequence[int]) -> dict[str, Any]:
        source, slot = self._course.source, slots[-1]
        paths = [source.path(one) for one in range(max(0, slot - self._course.span), slot + 1)]
        self._folder = self._course.folder / f"copy-{slot}"
        frame = self._course.spark.read.schema(SPARK_SCHEMA).parquet(*paths)
        frame = frame.where(f"until > timestamp_micros({as_of_us(slot)})").coalesce(1)
        if self.indexed:
            frame = frame.sortWithinPartitions("key")
        writer = frame.write.option("compression", "zstd").options(**(DIRECTORY if self.indexed else {}))
        writer.parquet(str(self._folder))
        return {}

    def updates_measured(self, updates: int, span: int) -> int:
        """They are dear, all alike, and of no interest."""
        return min(updates, 2)

    def data_files(self) -> list[DataFile]:
        if self._folder is None:
            return []
        return [DataFile(str(path)) for path in self._folder.glob("part-*.parquet")]
