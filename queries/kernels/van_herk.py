"""Associative operations: van Herk's blocks, generalised to spans of different lengths.

1. Spans are taken by length: those of B to 2B - 1 rows, B = 1, 2, 4, ...
2. The rows are cut into blocks of B, and folded within each block from its beginning (prefix) and to its end (suffix).
3. Such a span meets at least one border of blocks and at most two: it is a suffix, perhaps one whole block, a prefix.
Two passes a length, three values a span, and nothing overlaps: no inverse and no idempotence is needed.
Departs from the printed listing: spans of different lengths, taken by powers of two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import gcd
from typing import Any

import numpy as np

from tidewheel.queries.kernels.arrays import Numbers, Whole
from tidewheel.queries.kernels.doubling import by_length
from tidewheel.queries.kernels.runs import Run, runs_of


def blockwise(ufunc: np.ufunc, values: Numbers, start: Whole, end: Whole) -> Numbers:
    """The fold of values[start:end], no span empty; the operation is commutative."""
    answers = np.empty(len(start), values.dtype)
    runs = runs_of(start, end)
    if runs is not None:
        for run in runs:
            _slid(ufunc, values[run.first :], replace(run, first=0), answers[run.answers])
        return answers
    for level, spans in enumerate(by_length(start, end)):
        if len(spans):
            prefix, suffix = _blocks(ufunc, values, 1 << level)
            answers[spans] = _joined(ufunc, prefix, suffix, start[spans], end[spans], 1 << level)
    return answers


def _slid(ufunc: np.ufunc, values: Numbers, run: Run, answers: Numbers) -> None:
    """With blocks as long as the window a span is a suffix and a prefix, or just one block."""
    width = run.length
    prefix, suffix = _blocks(ufunc, values[: (run.count - 1) * run.step + width], width)
    ufunc(run.of(suffix), run.of(prefix, width - 1), out=answers)
    every = width // gcd(width, run.step)
    answers[::every] = run.of(suffix)[::every]


def _blocks(ufunc: np.ufunc, values: Numbers, width: int) -> tuple[Numbers, Numbers]:
    """Return prefixes and suffixes of blocks. The last rows fill no block and get no suffix: no span asks for one."""
    whole = len(values) // width * width
    prefix, suffix = np.empty_like(values), np.empty_like(values)
    blocks, shape = values[:whole].reshape(-1, width), (whole // width, width)
    ufunc.accumulate(blocks, axis=1, out=prefix[:whole].reshape(shape))
    ufunc.accumulate(values[whole:], out=prefix[whole:])
    ufunc.accumulate(blocks[:, ::-1], axis=1, out=suffix[:whole].reshape(shape)[:, ::-1])
    return prefix, suffix


def _joined(ufunc: np.ufunc, prefix: Numbers, suffix: Numbers, start: Whole, end: Whole, width: int) -> Numbers:
    border, last_border = -(-start // width) * width, end // width * width
    # A span begins with its suffix; one that begins at a border with that whole block.
    answers = suffix[start].copy()
    whole = (start < border) & (border < last_border)
    answers[whole] = ufunc(answers[whole], suffix[border[whole]])
    rest = last_border < end
    answers[rest] = ufunc(answers[rest], prefix[end[rest] - 1])
    return answers


def blockwise_objects(join: Callable[[Any, Any], Any], values: Sequence[Any], start: Whole, end: Whole) -> list[Any]:
    """The same for any associative operation, over Python values, the older operand on the left."""
    answers: list[Any] = [None] * len(start)
    for level, spans in enumerate(by_length(start, end)):
        if not len(spans):
            continue
        width = 1 << level
        prefix, suffix = _object_blocks(join, values, width)
        for span in spans.tolist():
            first, stop = int(start[span]), int(end[span])
            border, last_border = -(-first // width) * width, stop // width * width
            fold = suffix[first]
            if first < border < last_border:
                fold = join(fold, suffix[border])
            answers[span] = join(fold, prefix[stop - 1]) if last_border < stop else fold
    return answers


def _object_blocks(join: Callable[[Any, Any], Any], values: Sequence[Any], width: int) -> tuple[list[Any], list[Any]]:
    prefix, suffix = list(values), list(values)
    for row in range(1, len(values)):
        if row % width:
            prefix[row] = join(prefix[row - 1], values[row])
    for row in range(len(values) - 2, -1, -1):
        if (row + 1) % width:
            suffix[row] = join(values[row], suffix[row + 1])
    return prefix, suffix
