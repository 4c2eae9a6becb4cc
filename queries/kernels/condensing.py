"""Partials joined to fewer ones before they are folded: where few windows ask, their edges alone matter.

The edges cut time into segments, and a group in a segment is a cell. Each partial is added to its cell, in one pass
over rows in any order: no sorting. What comes out are partials again, a few for each group. This holds for accumulators
that are added or compared as numbers; the others are folded as they are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa

from tidewheel.queries.kernels.arrays import Numbers, Whole, int64s
from tidewheel.queries.kernels.limbs import Totals, WideTotals, carried, decimal_limbs, decimal_words
from tidewheel.queries.operation import Operation
from tidewheel.queries.operations.exact_floats import BUCKET_INFINITE, BUCKET_NEGATIVE_INFINITE
from tidewheel.queries.operations.wide import WIDE

COUNTS = ("count", "count_rows", "log_count")
# A sum of words below it fits 64 bits.
WORD_MAX = 1 << 62
_INFINITE = (BUCKET_INFINITE, BUCKET_NEGATIVE_INFINITE)
# From numbers by cell to those of other cells, each of which joins some of them by an operation.
Fold = Callable[[np.ufunc, Numbers], Numbers]


@dataclass(frozen=True)
class Chosen:
    """Some of the rows of a table, and the cell of each."""

    rows: Whole
    cells: Whole
    count: int  # of all rows of the table

    @cached_property
    def cell_of(self) -> Whole:
        """Return each row's cell; -1 where the row was not chosen."""
        cells = np.full(self.count, -1, np.int64)
        cells[self.rows] = self.cells
        return cells


class Joined(ABC):
    """The accumulators of one column, by cell."""

    def __init__(self, cells: int) -> None:
        self.size = cells

    @staticmethod
    @abstractmethod
    def read(column: Any) -> Any:
        """An Arrow column as `add` takes it; None if it holds what cannot be joined so."""

    @abstractmethod
    def add(self, values: Any, chosen: Chosen) -> None:
        """Add the rows chosen to their cells."""

    @abstractmethod
    def clear(self, cells: slice) -> None:
        """Take all rows out of some cells."""

    @property
    def is_exact(self) -> bool:
        """Tell whether the sums are certain to have lost no digit."""
        return True

    def folded(self, cells: int, fold: Fold) -> Self:
        """The accumulators of other cells, each made of some of these."""
        found = copy(self)
        found.size = cells
        found._fold(fold)
        return found

    @abstractmethod
    def _fold(self, fold: Fold) -> None:
        """Replace the numbers by what they are folded to."""

    @abstractmethod
    def column(self, cells: Whole, kind: Any) -> Any:
        """The accumulators of some cells, as Arrow stores them."""

    def finished(self, cells: Whole, kind: Any) -> Any:
        """The same for who finishes each by itself: whatever costs least to get there."""
        return self.column(cells, kind)


class Counts(Joined):
    def __init__(self, cells: int) -> None:
        super().__init__(cells)
        self.totals = np.zeros(cells, np.int64)

    @staticmethod
    def read(column: Any) -> Any:
        return None if column.null_count else int64s(column)

    def add(self, values: Whole, chosen: Chosen) -> None:
        np.add.at(self.totals, chosen.cells, values[chosen.rows])

    def clear(self, cells: slice) -> None:
        self.totals[cells] = 0

    def _fold(self, fold: Fold) -> None:
        self.totals = fold(np.add, self.totals)

    def column(self, cells: Whole, kind: Any) -> Any:
        return pa.array(self.totals[cells])


class Decimals(Joined):
    """Sums of decimals that are so small that all rows together fit 64 bits."""

    def __init__(self, cells: int) -> None:
        super().__init__(cells)
        self.totals = np.zeros(cells, np.int64)
        self.most = 0

    @staticmethod
    def read(column: Any) -> Any:
        """The values, and what their sum can be at most."""
        if column.null_count or not pa.types.is_decimal128(column.type):
            return None
        low, high = decimal_words(column)
        most = (2 * int(np.abs(low >> 1).max(initial=0)) + 2) * len(low)
        return None if (high != low >> 63).any() or most >= WORD_MAX else (low.copy(), most)

    def add(self, values: tuple[Whole, int], chosen: Chosen) -> None:
        words, most = values
        self.most += most
        np.add.at(self.totals, chosen.cells, words[chosen.rows])

    def clear(self, cells: slice) -> None:
        self.totals[cells] = 0  # `most` stays: a bound of more than there is

    def _fold(self, fold: Fold) -> None:
        self.totals = fold(np.add, self.totals)

    @property
    def is_exact(self) -> bool:
        return self.most < WORD_MAX

    def column(self, cells: Whole, kind: Any) -> Any:
        low = self.totals[cells]
        data = pa.py_buffer(np.column_stack([low, low >> 63]).tobytes())
        return pa.Array.from_buffers(kind, len(low), [None, data])


class WideNumbers(Joined):
    """Sums of wide numbers, 32 bits at a time: an entry for each limb that any of them has."""

    def __init__(self, cells: int) -> None:
        super().__init__(cells)
        self.totals: dict[int, Whole] = {}

    @staticmethod
    def read(column: Any) -> Any:
        """Return for each limb the rows that have it, with its values."""
        if column.null_count:
            return None
        entries, lengths = column.flatten(), np.diff(int64s(column.offsets))
        rows, buckets = np.repeat(np.arange(len(column)), lengths), int64s(entries.field("bucket"))
        limbs, found = decimal_limbs(entries.field("units")), []
        for bucket in np.unique(buckets).tolist():
            mine = np.flatnonzero(buckets == bucket)
            if bucket in _INFINITE:
                found.append((bucket, rows[mine], limbs[0][mine]))
                continue
            for number, limb in enumerate(limbs):
                there = mine[limb[mine] != 0]
                if len(there):
                    found.append((bucket + number, rows[there], limb[there]))
        return found

    def add(self, values: list[tuple[int, Whole, Whole]], chosen: Chosen) -> None:
        for limb, rows, units in values:
            total = self.totals.setdefault(limb, np.zeros(self.size, np.int64))
            cells = chosen.cell_of[rows]
            (mine,) = np.nonzero(cells >= 0)
            np.add.at(total, cells[mine], units[mine])

    def clear(self, cells: slice) -> None:
        for total in self.totals.values():
            total[cells] = 0

    def _fold(self, fold: Fold) -> None:
        self.totals = {limb: fold(np.add, total) for limb, total in self.totals.items()}

    def finished(self, cells: Whole, kind: Any) -> Any:
        finite = [limb for limb in self.totals if limb not in _INFINITE]
        first, last = min(finite, default=0), max(finite, default=0)
        limbs = np.zeros((len(cells), last - first + 2), np.int64)  # one more, for what is carried out of the highest
        for limb in finite:
            limbs[:, limb - first] = self.totals[limb][cells]
        infinite = (
            self.totals[one][cells] if one in self.totals else np.zeros(len(cells), np.int64) for one in _INFINITE
        )
        return WideTotals(Totals(carried(limbs), first), *infinite)

    def column(self, cells: Whole, kind: Any) -> Any:
        limbs = sorted(self.totals)
        units = np.column_stack([self.totals[limb][cells] for limb in limbs]) if limbs else np.zeros((len(cells), 0))
        low = units.astype(np.int64).ravel()
        data = pa.py_buffer(np.column_stack([low, low >> 63]).tobytes())
        entry = kind.value_type
        fields = [
            pa.array(np.tile(np.array(limbs, np.int32), len(cells)), pa.int32()),
            pa.Array.from_buffers(entry.field("units").type, len(low), [None, data]),
        ]
        offsets = pa.array(np.arange(len(cells) + 1) * len(limbs), pa.int32())
        return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays(fields, fields=list(entry)), type=kind)


class Extremes(Joined):
    """The largest numbers, or the smallest."""

    ufunc: np.ufunc = np.maximum
    lose_high = False

    def __init__(self, cells: int) -> None:
        super().__init__(cells)
        self.best: Numbers | None = None
        self.seen = np.zeros(cells, bool)

    @staticmethod
    def read(column: Any) -> Any:
        if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
            return None
        return np.asarray(column.fill_null(0)), np.asarray(column.is_valid())

    def add(self, values: tuple[Numbers, Numbers], chosen: Chosen) -> None:
        numbers, valid = values
        if self.best is None:
            self.best = np.full(self.size, self._loser(numbers.dtype), numbers.dtype)
        kept = valid[chosen.rows]
        cells = chosen.cells[kept]
        self.ufunc.at(self.best, cells, numbers[chosen.rows[kept]])
        self.seen[cells] = True

    def clear(self, cells: slice) -> None:
        self.seen[cells] = False
        if self.best is not None:
            self.best[cells] = self._loser(self.best.dtype)

    def _fold(self, fold: Fold) -> None:
        if self.best is not None:
            self.best, self.seen = fold(self.ufunc, self.best), fold(np.logical_or, self.seen)

    def column(self, cells: Whole, kind: Any) -> Any:
        if self.best is None:
            return pa.nulls(len(cells), kind)
        return pa.array(self.best[cells], kind, mask=~self.seen[cells])

    def _loser(self, kind: Any) -> Any:
        if np.issubdtype(kind, np.floating):
            return np.inf if self.lose_high else -np.inf
        return np.iinfo(kind).max if self.lose_high else np.iinfo(kind).min


class Smallest(Extremes):
    ufunc: np.ufunc = np.minimum
    lose_high = True


def joined_by(operation: Operation) -> type[Joined] | None:
    """How the accumulators of an operation are joined, which have one column; None if not as numbers."""
    if len(operation.columns) != 1:
        return None
    if operation.columns[0].sql_type == WIDE:
        return WideNumbers
    if operation.name in COUNTS:
        return Counts
    return {"sum": Decimals, "max": Extremes, "min": Smallest}.get(operation.name)
