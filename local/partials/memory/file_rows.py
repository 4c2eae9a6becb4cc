"""A piece of a tree's partial rows in memory: those of one file, read once. Its groups become numbers, its accumulators
arrays of numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from tidewheel.queries.kernels.arrays import Whole, int64s
from tidewheel.queries.kernels.condensing import Joined
from tidewheel.queries.kernels.partials import coded

EXPIRES = "exp_slot"
# Beyond so many cells for each row, sorting is cheaper.
CELLS_PER_ROW_MAX = 4
CELLS_MIN = 100_000
Ways = Mapping[str, type[Joined]]  # by accumulator's column, how it is joined


class Groups:
    """Numbers for the different groups of some columns, in the order in which they came."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._tables: list[pa.Table] = []

    def __len__(self) -> int:
        return len(self._numbers)

    def numbers_of(self, columns: Mapping[str, Any], rows: int) -> Whole:
        """The number of each row's group."""
        distinct, codes = coded(columns, rows)
        known, values = len(self._numbers), zip(*map(_comparable, distinct.columns), strict=True)
        numbers = np.array([self._numbers.setdefault(value, len(self._numbers)) for value in values], np.int64)
        (new,) = np.nonzero(numbers >= known)
        if len(new):
            self._tables.append(distinct.take(pa.array(new)))
        return numbers[codes]

    def taken(self, numbers: Whole) -> pa.Table:
        """The groups of these numbers."""
        if len(self._tables) > 1:
            self._tables = [pa.concat_tables(self._tables).combine_chunks()]
        return self._tables[0].take(pa.array(numbers))


def _comparable(column: pa.ChunkedArray) -> list[Any]:
    """Moments and days as numbers: not every one of them is one to Python."""
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date32(kind):
        return list(column.cast(pa.int64() if pa.types.is_timestamp(kind) else pa.int32()).to_pylist())
    return list(column.to_pylist())


@dataclass(frozen=True)
class Piece:
    """The rows of one file, by ascending fragment."""

    rows: pa.Table
    _read: dict[tuple[str, type[Joined]], Any] = field(default_factory=dict)
    _numbers: dict[tuple[str, ...], tuple[Groups, Whole]] = field(default_factory=dict)

    @staticmethod
    def of(rows: pa.Table) -> Piece:
        fragments = int64s(rows.column("fragment"))
        if (fragments[1:] < fragments[:-1]).any():
            rows = rows.take(pa.array(np.argsort(fragments, kind="stable")))
        return Piece(rows.combine_chunks())

    @cached_property
    def fragments(self) -> Whole:
        return int64s(self.rows.column("fragment"))

    @cached_property
    def signatures(self) -> Whole:
        return int64s(self.rows.column("signature"))

    @cached_property
    def expirations(self) -> Whole:
        return int64s(self.rows.column("expiration"))

    @cached_property
    def expires(self) -> Whole:
        return int64s(self.rows.column(EXPIRES))

    def values(self, column: str, way: type[Joined]) -> Any:
        """A column of accumulators as they are joined; None if they cannot be."""
        if (column, way) not in self._read:
            self._read[column, way] = way.read(_array(self.rows.column(column)))
        return self._read[column, way]

    def numbers(self, names: Sequence[str], groups: Groups) -> Whole:
        """The number of each row's group."""
        known = self._numbers.get(tuple(names))
        if known is None or known[0] is not groups:
            columns = {name: self.rows.column(name) for name in names}
            known = self._numbers[tuple(names)] = groups, groups.numbers_of(columns, self.rows.num_rows)
        return known[1]


def _array(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    return whole if isinstance(whole, pa.Array) else pa.concat_arrays(whole.chunks)
