"""The data files of one version, and which of them a read has to open.

The log knows the smallest and largest key of every file and the last moment one of its records is valid; a file
that cannot hold an answer is not opened. A statistic that is missing never excludes a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from tidewheel.indexing.slots import iso, micros
from tidewheel.sql.key_conditions import Bound, KeyCondition
from tidewheel.storage.snapshot import Snapshot

# Delta allows writers to cut the timestamps of their statistics to milliseconds.
STATISTIC_CUT = timedelta(microseconds=999)
_CUT_MAX = datetime.max.replace(tzinfo=UTC) - STATISTIC_CUT


@dataclass(frozen=True)
class DataFile:
    """One file as the log describes it."""

    path: str
    bytes: int
    rows: int | None
    valid_until_max_us: int | None
    key_min: tuple[Bound, ...]
    key_max: tuple[Bound, ...]


@dataclass(frozen=True)
class Access:
    """What one read opens, and why it leaves the other files alone."""

    version: int
    as_of_us: int
    read: tuple[DataFile, ...]
    expired: tuple[DataFile, ...]
    outside_key: tuple[DataFile, ...]
    without_key: tuple[DataFile, ...] = ()

    @property
    def files_total(self) -> int:
        return len(self.read) + len(self.expired) + len(self.outside_key) + len(self.without_key)

    def reasons(self) -> Iterator[tuple[DataFile, str]]:
        """Every file with the reason why it is opened or not, in words."""
        for file in self.read:
            yield file, "may hold an answer"
        for file in self.expired:
            yield file, f"every record expired by {iso(file.valid_until_max_us or 0)}"
        for file in self.outside_key:
            yield file, f"holds the keys {_shown(file.key_min)} to {_shown(file.key_max)}"
        for file in self.without_key:
            yield file, "does not hold the key, by its Bloom filters"


@dataclass(frozen=True)
class FileIndex:
    """Every file of a version."""

    version: int
    files: tuple[DataFile, ...]

    @staticmethod
    def of(snapshot: Snapshot) -> FileIndex:
        adds = snapshot.adds
        if adds.num_rows == 0:
            return FileIndex(snapshot.version, ())
        valid_until = _statistics(adds, "max", "valid_until")
        keys_min = zip(*(_statistics(adds, "min", name) for name in snapshot.definition.key), strict=True)
        keys_max = zip(*(_statistics(adds, "max", name) for name in snapshot.definition.key), strict=True)
        columns = (
            adds.column("path").to_pylist(),
            adds.column("size_bytes").to_pylist(),
            _column(adds, "num_records"),
            [None if value is None else micros(value) for value in valid_until],
            keys_min,
            keys_max,
        )
        return FileIndex(snapshot.version, tuple(DataFile(*values) for values in zip(*columns, strict=True)))

    def choose(self, condition: KeyCondition, as_of_us: int) -> Access:
        """The files that may hold a record which matches and is valid after a moment. Cost: a look at each."""
        read, expired, outside = [], [], []
        for file in self.files:
            if file.valid_until_max_us is not None and file.valid_until_max_us <= as_of_us:
                expired.append(file)
            elif condition.excludes(file.key_min, file.key_max):
                outside.append(file)
            else:
                read.append(file)
        return Access(self.version, as_of_us, tuple(read), tuple(expired), tuple(outside))

    def all(self) -> Access:
        """Every file, whatever has expired in it."""
        return Access(self.version, 0, self.files, (), ())


def _statistics(adds: pa.Table, bound: str, name: str) -> list[Any]:
    values = _column(adds, f"{bound}.{name}")
    first = next((value for value in values if value is not None), None)
    if isinstance(first, float):
        # NaN sorts after every number and is in no statistic: floating point never excludes a file.
        return [None] * len(values)
    if bound == "max" and isinstance(first, datetime):
        return [None if value is None or value > _CUT_MAX else value + STATISTIC_CUT for value in values]
    return values


def _column(adds: pa.Table, name: str) -> list[Any]:
    if name not in adds.column_names:
        return [None] * adds.num_rows
    return list(adds.column(name).to_pylist())


def _shown(bounds: Sequence[Bound]) -> str:
    return ", ".join(map(str, bounds))
