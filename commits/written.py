"""The files of one attempt, counted by their content: footers and three columns, whoever wrote them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from tidewheel.commits.statistics import file_statistics
from tidewheel.indexing.core.cells import HASH_MODULUS, Cell
from tidewheel.indexing.core.definition import Definition
from tidewheel.indexing.core.fates import COUNTED, FATES, QUARANTINED, UNSTORED, unstored_fate
from tidewheel.indexing.core.state import FileFact, SubIndex
from tidewheel.indexing.errors import Damaged
from tidewheel.storage.entry import NewFile
from tidewheel.storage.location import ListedFile, Location

# What a file's cells are counted from.
CELL_COLUMNS = ["ins_slot", "exp_slot", "row_hash"]
READERS = 4


@dataclass(frozen=True)
class Written:
    """The files of one attempt with their cells, and the fates of records that are not stored."""

    files: tuple[NewFile, ...]
    cells: Mapping[SubIndex, Mapping[tuple[int, int], Cell]]
    fates: Mapping[tuple[int, int], int]  # (insertion slot, fate) -> records
    rules: Mapping[tuple[int, int], int]  # (insertion slot, number of the broken rule) -> records
    aside: Mapping[int, tuple[str, ...]]  # row of the layout FATES -> files of records with their values

    @property
    def rows(self) -> int:
        return sum(file.fact.rows for file in self.files)

    @property
    def bytes(self) -> int:
        return sum(file.fact.bytes for file in self.files)

    @property
    def slots(self) -> frozenset[int]:
        """Return the insertion slots of all records, stored or not."""
        stored = {slot for cells in self.cells.values() for slot, _ in cells}
        return frozenset(stored).union(slot for slot, _ in (*self.fates, *self.rules))


NOTHING_WRITTEN = Written((), {}, {}, {}, {})


def read_back(location: Location, attempt: str, definition: Definition) -> Written:
    """Return the attempt's files as they lie there, read several at a time.

    Cost: their footers, and three narrow columns.
    """
    files: list[NewFile] = []
    cells: dict[SubIndex, dict[tuple[int, int], Cell]] = {}
    fates: dict[tuple[int, int], int] = {}
    rules: dict[tuple[int, int], int] = {}
    aside: dict[int, tuple[str, ...]] = {}
    infos = _data_files(location, attempt)
    with ThreadPoolExecutor(READERS) as readers:
        contents = list(readers.map(partial(_content, location, definition.key), infos))
    for info, (cells_here, statistics) in zip(infos, contents, strict=True):
        subindex = _subindex_of(info.path)
        if subindex[0] == FATES:
            totals = rules if subindex[1] == QUARANTINED else fates
            for (slot, number), cell in cells_here.items():
                at = (slot, unstored_fate(slot, number) if subindex[1] == UNSTORED else number)
                totals[at] = totals.get(at, 0) + cell.rows
            if subindex[1] != COUNTED:
                aside[subindex[1]] = (*aside.get(subindex[1], ()), location.relative(info.path))
            continue
        files.append(NewFile(_fact(location, info, subindex, cells_here), statistics, _ms(info)))
        there = cells.setdefault(subindex, {})
        for at, cell in cells_here.items():
            there[at] = there[at].plus(cell) if at in there else cell
    return Written(tuple(files), cells, fates, rules, aside)


def _data_files(location: Location, attempt: str) -> list[ListedFile]:
    """Return an attempt's files. A task that was given up may still be writing, in a folder that Spark set aside."""
    found = (
        info
        for info in location.files_below(attempt)
        if info.base_name.endswith(".parquet")
        and not info.base_name.startswith(".")
        and not location.relative(info.path).startswith(f"{attempt}/_temporary/")
    )
    return sorted(found, key=lambda one: one.path)


def _content(location: Location, key: Sequence[str], info: ListedFile) -> tuple[dict[tuple[int, int], Cell], str]:
    """Return a file's cells, and its statistics if it holds stored records."""
    is_stored = _subindex_of(info.path)[0] != FATES
    with pq.ParquetFile(location.filesystem.open_input_file(info.path)) as parquet:
        return counted(parquet.read(CELL_COLUMNS)), file_statistics(parquet, key) if is_stored else ""


def check_sizes(location: Location, files: Sequence[FileFact]) -> None:
    """Refuse to read files that are missing or not of the size the log says."""
    found = location.filesystem.get_file_info([location.child(file.path) for file in files])
    for file, info in zip(files, found, strict=True):
        if info.type == fs.FileType.File and info.size == file.bytes:
            continue
        state = "is missing" if info.type != fs.FileType.File else f"has {info.size} bytes, not {file.bytes}"
        raise Damaged(
            f"the data file {file.path} of the archive at {location.uri} {state}. Nothing was changed",
            f"see what is lost and how to restore it: {location.command('audit')}",
            path=file.path,
        )


def counted(columns: pa.Table) -> dict[tuple[int, int], Cell]:
    """Return rows and hash sum by (ins_slot, exp_slot)."""
    return counted_by(columns, ("ins_slot", "exp_slot"))


def counted_by(columns: pa.Table, keys: Sequence[str]) -> dict[Any, Cell]:
    """Return rows and hash sum by some columns. Hashes are summed in halves, which cannot overflow."""
    hashes = columns.column("row_hash")
    halves = columns.select(keys).append_column("low", pc.bit_wise_and(hashes, 0xFFFFFFFF))
    halves = halves.append_column("high", pc.shift_right(hashes, 32))
    sums = halves.group_by(keys, use_threads=False).aggregate([("low", "sum"), ("high", "sum"), ([], "count_all")])
    names = ("low_sum", "high_sum", "count_all")
    lows, highs, counts = (sums.column(name).to_pylist() for name in names)
    at = zip(*(sums.column(name).to_pylist() for name in keys), strict=True)
    return {
        key: Cell(count, ((high or 0) * (1 << 32) + (low or 0)) % HASH_MODULUS)
        for key, low, high, count in zip(at, lows, highs, counts, strict=True)
    }


def _subindex_of(path: str) -> SubIndex:
    parts = dict(part.split("=", 1) for part in path.split("/") if "=" in part)
    return int(parts["layout"]), int(parts["g"]), int(parts["e"])


def _fact(
    location: Location, info: fs.FileInfo, subindex: SubIndex, counted: Mapping[tuple[int, int], Cell]
) -> FileFact:
    slots, expirations = [at[0] for at in counted], [at[1] for at in counted]
    rows = sum(cell.rows for cell in counted.values())
    return FileFact(
        location.relative(info.path), *subindex, min(slots), max(slots), min(expirations), max(expirations),
        rows, info.size,
    )  # fmt: skip


def _ms(info: fs.FileInfo) -> int:
    return int(info.mtime_ns // 1_000_000) if info.mtime_ns else 0
