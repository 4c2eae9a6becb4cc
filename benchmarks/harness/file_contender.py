"""Contenders that keep Parquet files: contents, sizes and dead bytes counted from the files themselves."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator

import pyarrow as pa

from benchmarks.harness.contender import Contender, Contents
from benchmarks.harness.parquet_reader import DataFile, FileContent, ParquetReader
from benchmarks.harness.truth import Summary


class FileContender(Contender):
    """Answers with DuckDB over `data_files`; a subclass writes them."""

    _reader: ParquetReader

    @abstractmethod
    def data_files(self) -> list[DataFile]:
        """The files of the newest version."""

    def refresh(self, slot: int) -> None:
        if not hasattr(self, "_reader"):
            self._reader = ParquetReader()
        self._reader.refresh(self.data_files(), slot)

    def probe(self, key: int) -> pa.Table:
        return self._reader.range(key, key + 1)

    def probe_range(self, low: int, high: int) -> pa.Table:
        return self._reader.range(low, high)

    def scan(self) -> Iterator[pa.RecordBatch]:
        return self._reader.scan()

    def files(self) -> list[str]:
        return [file.path for file in self._reader.files]

    def contents(self) -> Contents:
        return contents_of(self._reader.contents(), self._reader.slot)

    def close(self) -> None:
        if hasattr(self, "_reader"):
            self._reader.close()


def contents_of(files: list[FileContent], slot: int) -> Contents:
    """The files added up; the dead bytes of a file are its dead rows' share."""
    sizes = {one.path: os.stat(one.path).st_size for one in files}
    dead = sum(sizes[one.path] * (one.rows - one.live.rows) / one.rows for one in files)
    return Contents(
        live=Summary(
            sum(one.live.rows for one in files), sum(one.live.ids for one in files), sum(one.live.mix for one in files)
        ),
        files=len(files),
        rows=sum(one.rows for one in files),
        bytes=sum(sizes.values()),
        dead_bytes=round(dead),
        oldest_dead=max((slot + 1 - one.expiration_min for one in files if one.expiration_min <= slot), default=0),
    )
