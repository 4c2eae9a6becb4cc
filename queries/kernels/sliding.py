"""Idempotent operations over windows that slide: two levels of doubling, in pieces that fit the processor's cache.

1. A piece of rows at a time, tables of the folds of 1, 2, 4, ..., WIDE rows. Two entries that overlap, or meet, are the
   fold of any span of up to 2 * WIDE rows.
2. Of a longer span they are its two ends. What lies between is the fold of whole blocks, the same for all spans that
   begin in one block; it is found by sliding in the same way along every BLOCK-th entry of the widest table.

So a row is folded log2(WIDE) times, and an answer three times, however long the window is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from tidewheel.queries.kernels.arrays import Numbers
from tidewheel.queries.kernels.runs import Run, answers_of, width_of

BLOCK = 32
WIDE = 2 * BLOCK
PIECE = 1 << 15  # values; of rows of more than one, whole blocks of as many rows


def slid(ufunc: np.ufunc, values: Numbers, runs: Sequence[Run]) -> Numbers:
    """The folds of all spans, none of them empty; the operation is commutative, too. Or of rows of values."""
    answers = np.empty((answers_of(runs), *values.shape[1:]), values.dtype)
    piece = max(BLOCK, PIECE // width_of(values) // BLOCK * BLOCK)
    short, long = ([run for run in runs if (run.length >= WIDE) == is_long] for is_long in (False, True))
    wide = np.empty_like(values) if long else None
    _double(ufunc, values, short, answers, wide, piece)
    if wide is None:
        return answers
    middles = _middles(ufunc, wide, long)
    for run, middle in zip(long, middles, strict=True):
        for low, part in run.parts(piece):
            table, out = wide[low:], answers[part.answers]
            ufunc(part.of(table), part.of(table, run.length - WIDE), out=out)
            if len(middle):
                first = (low + part.first) // BLOCK - run.first // BLOCK
                each = np.repeat(middle[first : first + piece // BLOCK], BLOCK, axis=0)
                ufunc(out, each[part.first % BLOCK :: part.step][: part.count], out=out)
    return answers


def _double(
    ufunc: np.ufunc, values: Numbers, runs: Sequence[Run], answers: Numbers, wide: Numbers | None, piece: int
) -> None:
    """The spans shorter than WIDE; and the table of WIDE rows, where it is asked for."""
    asked: dict[tuple[int, int], list[Run]] = defaultdict(list)
    for run in runs:
        for low, part in run.parts(piece):
            asked[low, 1 << (run.length.bit_length() - 1)].append(part)
    widest = WIDE if wide is not None else max((width for _, width in asked), default=0)
    spare = np.empty((2, piece + WIDE, *values.shape[1:]), values.dtype)
    for low in range(0, len(values), piece):
        table, width = values[low : low + piece + WIDE - 1], 1
        while width <= widest:
            for part in asked.get((low, width), ()):
                ufunc(part.of(table), part.of(table, part.length - width), out=answers[part.answers])
            rows = max(0, len(table) - width)
            into = spare[width.bit_length() % 2] if wide is None or 2 * width < WIDE else wide[low:]
            if 2 * width <= widest:
                table = ufunc(table[:rows], table[width : width + rows], out=into[:rows])
            width *= 2


def _middles(ufunc: np.ufunc, wide: Numbers, runs: Sequence[Run]) -> list[Numbers]:
    """Fold what lies between the ends of each run's spans, by the block where spans begin; nothing if ends meet."""
    blocks, places = list[Run](), 0
    for run in runs:
        first, last = run.first // BLOCK, (run.first + (run.count - 1) * run.step) // BLOCK
        count = last - first + 1 if run.length > 2 * WIDE else 0
        blocks.append(Run(places, count, first + 2, run.length // BLOCK - 3, 1))
        places += count
    if not places:
        return [wide[:0]] * len(runs)
    table = np.ascontiguousarray(wide[: len(wide) - WIDE + 1 : BLOCK])
    found = slid(ufunc, table, [run for run in blocks if run.count])
    return [found[run.answers] for run in blocks]
