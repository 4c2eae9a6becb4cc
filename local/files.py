"""Sorted rows into data files, of the kind that Spark writes: small row groups, a Bloom filter on the key, checksums.

Rows come as batches in the order of sub-index, key, expiry. A sub-index becomes one run of files, cut at a number of
rows. What was written is read back from the files (`commits.written`).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType

import pyarrow as pa
import pyarrow.parquet as pq

from tidewheel.indexing.core.file_sizes import rows_per_file, rows_per_group
from tidewheel.indexing.core.layouts import MEBIBYTE, Generation
from tidewheel.indexing.core.state import SubIndex, TableState
from tidewheel.storage.location import Location
from tidewheel.storage.parquet_columns import bounded, leaves

# As Spark's writer is told: dictionaries that grow beyond it are given up.
DICTIONARY_BYTES = MEBIBYTE // 16
# What Hadoop puts beside each local file, and `audit --deep` holds its bytes against.
CHECKED_BYTES = 512
_CHECKSUMS = b"crc\0"
# Until it is whole, a local file has a name that no pattern of data files fits: who lists the folder by itself finds
# whole ones only. Object stores show no other.
_UNFINISHED = ".unfinished"


@dataclass(frozen=True)
class Shape:
    """The settings that all files of one attempt share."""

    schema: pa.Schema
    key: str
    rows_per_file: int
    target_bytes: int
    plain: frozenset[str] = frozenset()  # columns whose values are too different for a dictionary

    @staticmethod
    def of(state: TableState, generation: Generation, schema: pa.Schema, plain: Collection[str] = ()) -> Shape:
        """The shape of files that are written into a generation."""
        rows, target = rows_per_file(state, generation), generation.target_file_bytes
        return Shape(schema, state.definition.key[0], rows, target, frozenset(plain))

    @property
    def group_rows(self) -> int:
        return rows_per_group(self.rows_per_file, self.target_bytes)

    @cached_property
    def columns(self) -> Mapping[str, str]:
        """How Parquet stores each column, by its path; told once for all files."""
        return leaves(self.schema)


class SortedFiles:
    """The files of one attempt's folder, written one after the other."""

    def __init__(self, location: Location, folder: str, shape: Shape, named: str = "part-{:05d}") -> None:
        self._location, self._folder, self._shape, self._named = location, folder, shape, named
        self._subindex: SubIndex | None = None
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_rows = 0
        self._numbers: dict[SubIndex, int] = {}
        self._file: _File | None = None

    def __enter__(self) -> SortedFiles:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._end()
        elif self._file is not None:
            with suppress(OSError, pa.ArrowException):  # what is wrong is on its way already
                self._file.writer.close()

    def add(self, subindex: SubIndex, rows: pa.RecordBatch) -> None:
        """Rows that come behind all that were added to the sub-index; another sub-index begins another file."""
        if subindex != self._subindex:
            self._end()
            self._subindex = subindex
        self._waiting.append(rows)
        self._waiting_rows += rows.num_rows
        while self._waiting_rows >= self._shape.group_rows:
            self._write_group()

    def _end(self) -> None:
        while self._waiting_rows:
            self._write_group()
        self._close()

    def _write_group(self) -> None:
        """The next row group, cut off from what waits."""
        waiting = pa.Table.from_batches(self._waiting)
        group = waiting.slice(0, self._shape.group_rows)
        self._waiting = waiting.slice(group.num_rows).to_batches()
        self._waiting_rows -= group.num_rows
        if self._file is None:
            self._file = self._opened()
        self._file.writer.write_table(group, row_group_size=self._shape.group_rows)
        self._file.rows += group.num_rows
        if self._file.rows >= self._shape.rows_per_file:
            self._close()

    def _opened(self) -> _File:
        assert self._subindex is not None
        layout, g, e = self._subindex
        folder = self._location.child(f"{self._folder}/layout={layout}/g={g}/e={e}")
        if self._location.is_local:
            self._location.filesystem.create_dir(folder)
        number = self._numbers[self._subindex] = self._numbers.get(self._subindex, -1) + 1
        name = f"{self._named.format(number)}.zstd.parquet"
        path = f"{folder}/{name}{_UNFINISHED if self._location.is_local else ''}"
        return _File(folder, name, path, _writer(self._location, path, self._shape))

    def _close(self) -> None:
        if self._file is None:
            return
        self._file.writer.close()
        if self._location.is_local:
            self._location.filesystem.move(self._file.path, f"{self._file.folder}/{self._file.name}")
            _write_checksums(self._location, self._file)
        self._file = None


@dataclass
class _File:
    folder: str
    name: str
    path: str  # where it is written
    writer: pq.ParquetWriter
    rows: int = 0


def _writer(location: Location, path: str, shape: Shape) -> pq.ParquetWriter:
    # Sorted keys compress as well without a dictionary; no two hashes are equal.
    plain = {shape.key, "row_hash", *shape.plain}
    columns = shape.columns
    return pq.ParquetWriter(
        path,
        shape.schema,
        filesystem=location.filesystem,
        compression="zstd",
        use_dictionary=[name for name in columns if name.split(".")[0] not in plain],
        write_statistics=bounded(columns),
        dictionary_pagesize_limit=DICTIONARY_BYTES,
        bloom_filter_options={shape.key: {"ndv": shape.group_rows}} if _has_filter(shape) else None,
        store_decimal_as_integer=True,
        store_schema=False,
        write_page_checksum=True,
    )


def _has_filter(shape: Shape) -> bool:
    """As Spark's files: not on bytes, truth values and floating point, which nobody looks up by a filter."""
    kind = shape.schema.field(shape.key).type
    return not (pa.types.is_binary(kind) or pa.types.is_boolean(kind) or pa.types.is_floating(kind))


def _write_checksums(location: Location, file: _File) -> None:
    """One CRC-32 for each piece of the file, in Hadoop's form."""
    content = memoryview(location.read_bytes(f"{file.folder}/{file.name}"))
    sums = [zlib.crc32(content[at : at + CHECKED_BYTES]) for at in range(0, len(content), CHECKED_BYTES)]
    with location.filesystem.open_output_stream(f"{file.folder}/.{file.name}.crc", compression=None) as stream:
        stream.write(_CHECKSUMS + struct.pack(f">i{len(sums)}I", CHECKED_BYTES, *sums))
