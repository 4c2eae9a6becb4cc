"""Partials by group and fragment, and which rows of them each window has.

There is no grid of groups × fragments: a group has the fragments it has. Rows are sorted by one key, made of the group
and the fragment, so a window of a group is one run of rows, and its ends are found by searching the keys. Only pairs of
a group and a window with at least one row are kept; of nothing there is no answer but that of a query without groups,
which its caller knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.kernels.arrays import Whole, int64s

# Pairs of a group and a window that are looked at in one go: bounds the memory, not the result.
PAIRS_MAX = 4_000_000
KEY_MAX = 2**62


@dataclass(frozen=True)
class Spans:
    """One answer each: rows start, ..., end - 1 of a group, for a window, both by position."""

    group: Whole
    window: Whole
    start: Whole
    end: Whole

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True)
class Scale:
    """Fragment numbers as places 0, 1, ..., size - 1: their distance from the lowest, or their rank."""

    low: int
    size: int
    distinct: Whole | None  # for fragments so far apart that distances would make keys too large

    def place(self, numbers: Whole) -> Whole:
        """Return a number's place; a number that is not there has the place of the next one."""
        if self.distinct is not None:
            return np.searchsorted(self.distinct, numbers)
        return np.clip(numbers, self.low, self.low + self.size) - self.low


@dataclass(frozen=True)
class Partials:
    """Made by `sorted_partials`. `order` brings the caller's rows into this order; None if they were in it."""

    groups: Any  # an Arrow table: the different groups, in the order of their columns
    keys: Whole  # group × (size + 1) + place of the fragment, ascending
    scale: Scale
    order: Whole | None

    def __len__(self) -> int:
        return len(self.keys)

    def sorted(self, column: Any) -> Any:
        """A column of the caller's rows, in this order."""
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        return whole if self.order is None else whole.take(pa.array(self.order))

    def spans(self, firsts: Any, ends: Any) -> Spans:
        """Return the row spans of windows over the fragments first, ..., end - 1, given as Arrow arrays."""
        if len(firsts) != len(ends):
            raise InvalidInput(f"{len(firsts)} windows begin and {len(ends)} end", "give both of each")
        places = np.concatenate([self.scale.place(int64s(numbers)) for numbers in (firsts, ends)])
        # Windows of one slide begin where others end: each edge is searched for once.
        edges, edge_of = np.unique(places, return_inverse=True)
        step = max(1, PAIRS_MAX // max(1, len(firsts)))
        parts = [
            self._spans_of(np.arange(first, min(first + step, self.groups.num_rows)), edges, edge_of.reshape(2, -1))
            for first in range(0, max(1, self.groups.num_rows), step)
        ]
        return Spans(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def _spans_of(self, groups: Whole, edges: Whole, windows: Whole) -> tuple[Whole, ...]:
        """Return the spans of some groups; `windows` holds first edges and ends."""
        rows = np.searchsorted(self.keys, groups[:, None] * (self.scale.size + 1) + edges)
        start, end = (rows[:, side] for side in windows)
        group, window = np.nonzero(start < end)
        return groups[group], window, start[group, window], end[group, window]


def sorted_partials(group_columns: Mapping[str, Any], fragments: Any) -> Partials:
    """Sort rows by group and fragment; group columns (perhaps none) and fragment numbers come as Arrow arrays."""
    groups, codes = coded(group_columns, len(fragments))
    numbers = int64s(fragments)
    scale = _scale(numbers, groups.num_rows)
    keys = codes * (scale.size + 1) + scale.place(numbers)
    order = None
    if not (keys[1:] >= keys[:-1]).all():
        order = np.argsort(keys, kind="stable")  # rows of one fragment stay in their order
        keys = keys[order]
    return Partials(groups, keys, scale, order)


def _scale(numbers: Whole, groups: int) -> Scale:
    if not len(numbers):
        return Scale(0, 0, None)
    low, high = int(numbers.min()), int(numbers.max())
    if groups * (high - low + 2) < KEY_MAX:
        return Scale(low, high - low + 1, None)
    distinct = np.unique(numbers)
    return Scale(low, len(distinct), distinct)


def coded(group_columns: Mapping[str, Any], rows: int) -> tuple[Any, Whole]:
    """The different groups, and the position among them of each row's."""
    if not group_columns:
        return pa.table({"": pa.nulls(min(rows, 1))}), np.zeros(rows, np.int64)
    columns = iter(group_columns.values())
    codes = _ranked(next(columns))[1]
    for column in columns:
        count, ranks = _ranked(column)
        # Packed anew after each column: the product of the columns' counts may not fit, the number of groups does.
        codes = np.unique(codes * max(1, count) + ranks, return_inverse=True)[1]
    first_rows = np.empty(int(codes.max(initial=-1)) + 1, np.int64)
    first_rows[codes[::-1]] = np.arange(rows)[::-1]
    return pa.table(dict(group_columns)).take(pa.array(first_rows)), codes


def _ranked(column: Any) -> tuple[int, Whole]:
    """How many different values a column has, and the rank among them of each row's; NULL is the last."""
    if not len(column):  # Arrow combines no chunks of encoded moments where there are none
        return 0, np.zeros(0, np.int64)
    encoded = pc.dictionary_encode(column, null_encoding="encode")
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    by_value = int64s(pc.sort_indices(encoded.dictionary))
    rank = np.empty(len(by_value), np.int64)
    rank[by_value] = np.arange(len(by_value))
    return len(rank), rank[int64s(encoded.indices)]
