"""Idempotent operations: tables of the folds of 1, 2, 4, ... rows; two that overlap make any span.

Only one table is kept at a time: the spans of each length are answered when their table is there. Spans that slide have
a way of their own (`sliding.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from tidewheel.queries.kernels.arrays import Numbers, Whole
from tidewheel.queries.kernels.runs import runs_of, width_of
from tidewheel.queries.kernels.sliding import slid


def doubled(ufunc: np.ufunc, values: Numbers, start: Whole, end: Whole) -> Numbers:
    """The fold of values[start:end], no span empty; the operation is commutative and idempotent. Or of rows of them."""
    runs = runs_of(start, end, width_of(values))
    if runs is not None:
        return slid(ufunc, values, runs)
    answers = np.empty((len(start), *values.shape[1:]), values.dtype)
    table, width, spare = values, 1, np.empty((2, *values.shape), values.dtype)
    for level, spans in enumerate(by_length(start, end)):
        if level:
            rows = max(0, len(table) - width)
            table = ufunc(table[:rows], table[width : width + rows], out=spare[level % 2, :rows])
            width *= 2
        if len(spans):
            answers[spans] = ufunc(table[start[spans]], table[end[spans] - width])
    return answers


def by_length(start: Whole, end: Whole) -> Iterator[Whole]:
    """The positions of the spans of 1, of 2..3, of 4..7, ... rows."""
    # frexp is exact for every length that fits in memory; small numbers are sorted by counting
    level = (np.frexp((end - start).astype(np.float64))[1] - 1).astype(np.int8)
    order = np.argsort(level, kind="stable")
    ends = np.searchsorted(level[order], np.arange(level.max(initial=-1) + 2))
    return (order[first:last] for first, last in pairwise(ends))
