"""Partials by group and fragment, and which rows of them each window has.

There is no grid of groups × fragments: a group has the fragments it has. Rows are sorted by group, then fragment, so a
window of a group is one run of rows, and its two ends are found by searching. Only pairs of a group and a window with
at least one row are kept; of nothing there is no answer but that of a query without groups, which its caller knows.
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
class Partials:
    """Made by `sorted_partials`. `order` brings the caller's rows into this order; None if they were in it."""

    groups: Any  # an Arrow table: the different groups, in the order of their columns
    group_starts: Whole  # the first row of each group, and the number of rows
    fragments: Whole
    order: Whole | None

    def __len__(self) -> int:
        return len(self.fragments)

    def sorted(self, column: Any) -> Any:
        """A column of the caller's rows, in this order."""
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        return whole if self.order is None else whole.take(pa.array(self.order))

    def spans(self, firsts: Any, ends: Any) -> Spans:
        """Of windows over the fragments first, ..., end - 1, given as Arrow arrays."""
        first_numbers, end_numbers = int64s(firsts), int64s(ends)
        if len(first_numbers) != len(end_numbers):
            raise InvalidInput(f"{len(first_numbers)} windows begin and {len(end_numbers)} end", "give both of each")
        if not len(first_numbers):
            return Spans(*(np.zeros(0, np.int64) for _ in range(4)))
        step = max(1, PAIRS_MAX // len(first_numbers))
        parts = [
            self._spans_of(first, min(first + step, self.groups.num_rows), first_numbers, end_numbers)
            for first in range(0, max(1, self.groups.num_rows), step)
        ]
        return Spans(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def _spans_of(self, first_group: int, end_group: int, firsts: Whole, ends: Whole) -> tuple[Whole, ...]:
        rows = slice(self.group_starts[first_group], self.group_starts[end_group])
        if rows.start == rows.stop:
            return tuple(np.zeros(0, np.int64) for _ in range(4))
        fragments = self.fragments[rows]
        low, high = int(fragments.min()), int(fragments.max()) + 1
        stride = high - low + 1
        counts = np.diff(self.group_starts[first_group : end_group + 1])
        keys = np.repeat(np.arange(end_group - first_group, dtype=np.int64), counts) * stride + (fragments - low)
        offsets = np.arange(end_group - first_group, dtype=np.int64)[:, None] * stride
        start = np.searchsorted(keys, (offsets + np.clip(firsts, low, high) - low).ravel())
        end = np.searchsorted(keys, (offsets + np.clip(ends, low, high) - low).ravel())
        (kept,) = np.nonzero(start < end)
        group, window = np.divmod(kept, len(firsts))
        return group + first_group, window, start[kept] + rows.start, end[kept] + rows.start


def sorted_partials(group_columns: Mapping[str, Any], fragments: Any) -> Partials:
    """Of the caller's rows: the columns of the group, perhaps none, and the fragment number, as Arrow arrays."""
    groups, codes = _coded(group_columns, len(fragments))
    numbers = int64s(fragments)
    order = None
    in_order = (codes[1:] > codes[:-1]) | ((codes[1:] == codes[:-1]) & (numbers[1:] >= numbers[:-1]))
    if not in_order.all():
        order = np.lexsort((numbers, codes))  # stable: rows of one fragment stay in their order
        codes, numbers = codes[order], numbers[order]
    return Partials(groups, np.searchsorted(codes, np.arange(groups.num_rows + 1)), numbers, order)


def _coded(group_columns: Mapping[str, Any], rows: int) -> tuple[Any, Whole]:
    """The different groups, and the position among them of each row's."""
    codes = np.zeros(rows, np.int64)
    for column in group_columns.values():
        values, ranks = _ranked(column)
        # Packed anew after each column: the product of the columns' numbers may not fit, that of groups does.
        codes = np.unique(codes * max(1, len(values)) + ranks, return_inverse=True)[1]
    if not group_columns:
        return pa.table({"": pa.nulls(min(rows, 1))}), codes
    _, first_rows = np.unique(codes, return_index=True)
    return pa.table(dict(group_columns)).take(pa.array(first_rows)), codes


def _ranked(column: Any) -> tuple[Any, Whole]:
    """The different values of a column, and the rank among them of each row's; NULL is the last."""
    encoded = pc.dictionary_encode(column, null_encoding="encode")
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    by_value = int64s(pc.sort_indices(encoded.dictionary))
    rank = np.empty(len(by_value), np.int64)
    rank[by_value] = np.arange(len(by_value))
    return encoded.dictionary, rank[int64s(encoded.indices)] if len(column) else np.zeros(0, np.int64)
