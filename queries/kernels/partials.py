"""Partials by group and fragment, and which rows of them each window has.

There is no grid of groups × fragments: a group has the fragments it has. Rows are sorted by group, then fragment, so a
window of a group is one run of rows, and its two ends are found by searching. Only pairs of a group and a window with
at least one row are kept; of nothing there is no answer but that of a query without groups, which its caller knows.
"""

from __future__ import annotations

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

    group_ids: Any  # Arrow: the different groups, ascending
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
            self._spans_of(first, min(first + step, len(self.group_ids)), first_numbers, end_numbers)
            for first in range(0, max(1, len(self.group_ids)), step)
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


def sorted_partials(groups: Any, fragments: Any) -> Partials:
    """Of the caller's rows: the group and the fragment number of each, as Arrow arrays."""
    ids, codes = _coded(groups)
    numbers = int64s(fragments)
    order = None
    in_order = (codes[1:] > codes[:-1]) | ((codes[1:] == codes[:-1]) & (numbers[1:] >= numbers[:-1]))
    if not in_order.all():
        order = np.lexsort((numbers, codes))  # stable: rows of one fragment stay in their order
        codes, numbers = codes[order], numbers[order]
    return Partials(ids, np.searchsorted(codes, np.arange(len(ids) + 1)), numbers, order)


def _coded(groups: Any) -> tuple[Any, Whole]:
    """The different groups, ascending, and the position among them of each row's."""
    encoded = pc.dictionary_encode(groups, null_encoding="encode")
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    by_value = pc.sort_indices(encoded.dictionary)
    rank = np.empty(len(by_value), np.int64)
    rank[int64s(by_value)] = np.arange(len(by_value))
    return encoded.dictionary.take(by_value), rank[int64s(encoded.indices)] if len(groups) else np.zeros(0, np.int64)
