"""Invertible operations: one pass of running totals, then each span is the difference of its two ends.

Whole numbers only, so nothing is rounded; a running total may wrap around 2^64, and the difference is right again as
long as the span's own total fits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tidewheel.queries.kernels.arrays import Whole
from tidewheel.queries.kernels.runs import Run, answers_of, runs_of, width_of


def span_sums(values: Whole, start: Whole, end: Whole) -> Whole:
    """The sum of values[start:end]; or of rows of them."""
    return _differences(np.add, np.subtract, values, start, end)


def span_xors(values: Whole, start: Whole, end: Whole) -> Whole:
    return _differences(np.bitwise_xor, np.bitwise_xor, values, start, end)


def run_sums(values: Whole, runs: Sequence[Run]) -> Whole:
    """The same for spans that are known to slide."""
    return _slid(np.subtract, _running(np.add, values), runs)


def _differences(ufunc: np.ufunc, inverse: np.ufunc, values: Whole, start: Whole, end: Whole) -> Whole:
    running, runs = _running(ufunc, values), runs_of(start, end, width_of(values))
    if runs is not None:
        return _slid(inverse, running, runs)
    totals: Whole = inverse(running[end], running[start])
    return totals


def _running(ufunc: np.ufunc, values: Whole) -> Whole:
    running = np.empty((len(values) + 1, *values.shape[1:]), np.int64)
    running[0] = 0
    ufunc.accumulate(values, out=running[1:])
    return running


def _slid(inverse: np.ufunc, running: Whole, runs: Sequence[Run]) -> Whole:
    totals = np.empty((answers_of(runs), *running.shape[1:]), np.int64)
    for run in runs:
        inverse(run.of(running, run.length), run.of(running), out=totals[run.answers])
    return totals
