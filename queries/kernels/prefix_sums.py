"""Invertible operations: one pass of running totals, then each span is the difference of its two ends.

Whole numbers only, so nothing is rounded; a running total may wrap around 2^64, and the difference is right again as
long as the span's own total fits.
"""

from __future__ import annotations

import numpy as np

from tidewheel.queries.kernels.arrays import Whole


def span_sums(values: Whole, start: Whole, end: Whole) -> Whole:
    running = _running(np.add, values)
    totals: Whole = running[end] - running[start]
    return totals


def span_xors(values: Whole, start: Whole, end: Whole) -> Whole:
    running = _running(np.bitwise_xor, values)
    bits: Whole = running[end] ^ running[start]
    return bits


def _running(ufunc: np.ufunc, values: Whole) -> Whole:
    running = np.zeros(len(values) + 1, np.int64)
    ufunc.accumulate(values, out=running[1:])
    return running
