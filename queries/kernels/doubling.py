"""Idempotent operations: tables of the folds of 1, 2, 4, ... rows; two that overlap make any span.

Only one table is kept at a time: the spans of each length are answered when their table is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from tidewheel.queries.kernels.arrays import Numbers, Whole


def doubled(ufunc: np.ufunc, values: Numbers, start: Whole, end: Whole) -> Numbers:
    """The fold of values[start:end], no span empty; the operation is commutative and idempotent."""
    answers = np.empty(len(start), values.dtype)
    table, width = values, 1
    for spans in by_length(start, end):
        if len(spans):
            answers[spans] = ufunc(table[start[spans]], table[end[spans] - width])
        table, width = ufunc(table[:-width], table[width:]) if width < len(table) else table[:0], 2 * width
    return answers


def by_length(start: Whole, end: Whole) -> Iterator[Whole]:
    """The positions of the spans of 1, of 2..3, of 4..7, ... rows."""
    # frexp is exact for every length that fits in memory
    level = np.frexp((end - start).astype(np.float64))[1] - 1
    order = np.argsort(level, kind="stable")
    ends = np.searchsorted(level[order], np.arange(level.max(initial=-1) + 2))
    return (order[first:last] for first, last in pairwise(ends))
