"""Rows to tasks: the decision of `indexing.core.sharing`, as a number that Spark computes for each row.

If a sub-index is cut between tasks, the key to cut at comes from the files it is rewritten from: their footers have the
bounds of row groups of 1 MiB. A missing or poor key makes tasks uneven and loses no row: a row's task depends on the
row alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidewheel.indexing.core.layouts import MEBIBYTE
from tidewheel.indexing.core.sharing import Piece, shared, tasks_for
from tidewheel.indexing.core.state import FileFact, SubIndex
from tidewheel.jobs.data.expressions import long, quoted, text
from tidewheel.storage.location import Location

# Up to here one task is quicker than a shuffle for two.
ONE_TASK_BYTES_MAX = 8 * MEBIBYTE
# Beyond so many, a literal map in the plan costs more than uneven tasks.
LISTED_SUBINDICES_MAX = 256
NUMBER = "(layout * 1099511627776L + g * 1048576L + e)"


@dataclass(frozen=True)
class SourceKeys:
    """The first key column in the files that sub-indices are rewritten from: whole numbers or texts."""

    location: Location
    column: str
    files: Sequence[FileFact]

    @cached_property
    def subindices(self) -> Collection[SubIndex]:
        return frozenset(file.subindex for file in self.files)

    def below(self, subindex: SubIndex, shares: Sequence[float]) -> list[str]:
        """Return keys, as SQL, that have about these shares of a sub-index's rows below.

        Cost: the footers of its files.
        """
        groups = sorted(group for file in self.files if file.subindex == subindex for group in self._groups(file))
        rows = sum(rows for _, rows in groups)
        keys: list[str] = []
        passed = 0
        for least, rows_here in groups:
            while len(keys) < len(shares) and passed >= shares[len(keys)] * rows:
                keys.append(long(least) if isinstance(least, int) else text(least))
            passed += rows_here
        return keys

    def _groups(self, file: FileFact) -> Iterator[tuple[Any, int]]:
        """Return the least key and the rows of every row group that has them."""
        with pq.ParquetFile(self.location.filesystem.open_input_file(self.location.child(file.path))) as parquet:
            metadata = parquet.metadata
            names = [metadata.schema.column(i).path for i in range(metadata.num_columns)]
            for number in range(metadata.num_row_groups):
                group = metadata.row_group(number)
                statistics = group.column(names.index(self.column)).statistics
                if statistics is not None and statistics.has_min_max:
                    yield statistics.min, group.num_rows


def spread_out(
    frame: DataFrame, order: Sequence[str], sizes: Mapping[SubIndex, int], keys: SourceKeys, target_bytes: int
) -> DataFrame:
    """Give every sub-index, or range of its keys, to one task, so that the tasks are even."""
    cores = frame.sparkSession.sparkContext.defaultParallelism
    total = sum(sizes.values())
    if any(size > 2 * target_bytes for at, size in sizes.items() if at not in keys.subindices):
        # Large, and nothing tells its keys: Spark has to look for them.
        return frame.repartitionByRange(max(cores, total // target_bytes + len(sizes)), *order)
    if cores == 1 or 0 < total <= ONE_TASK_BYTES_MAX:
        return frame.coalesce(1)
    tasks = tasks_for(total, cores, target_bytes)
    shares = shared(sizes, keys.subindices, tasks, target_bytes)
    terms = [cut_task(at, pieces, keys) for at, pieces in shares.items() if len(pieces) > 1]
    whole = {at: pieces[0].task for at, pieces in shares.items() if len(pieces) == 1}
    if 0 < len(whole) <= LISTED_SUBINDICES_MAX:
        pairs = ", ".join(f"{_number(*at)}L, {task}" for at, task in whole.items())
        terms.append(f"try_element_at(map({pairs}), {NUMBER})")
    terms.append(f"pmod({NUMBER}, {tasks})")
    return frame.repartitionById(tasks, F.expr(f"cast(coalesce({', '.join(terms)}) as int)"))


def cut_task(subindex: SubIndex, pieces: Sequence[Piece], keys: SourceKeys) -> str:
    """Return the task of a row of a sub-index that is cut, as SQL; NULL for the rows of others."""
    below = keys.below(subindex, [piece.until for piece in pieces[:-1]])
    steps = [f"when {quoted(keys.column)} < {key} then {piece.task}" for key, piece in zip(below, pieces, strict=False)]
    last = pieces[len(below)].task
    task = f"case {' '.join(steps)} else {last} end" if steps else f"{last}"
    return f"case when {NUMBER} = {_number(*subindex)}L then {task} end"


def _number(layout: int, g: int, e: int) -> int:
    """Return a sub-index as one whole number, the same as `NUMBER` in Spark."""
    return layout * (1 << 40) + g * (1 << 20) + e
