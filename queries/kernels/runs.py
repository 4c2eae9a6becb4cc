"""Spans of one length at one step, as slices: a window that slides along rows of which none is missing.

Slices of a table are read in order and need no list of places, so folding them is as fast as memory is. Spans whose
lengths or steps change with nearly every answer are left as they are: a slice costs as much as looking some of them up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from tidewheel.queries.kernels.arrays import Numbers, Truth, Whole

# So many values a run, on average, are worth slicing: measured for sums, of which finding runs is the larger part.
RUN_MIN = 4096
# Spans looked at in one go: they fit the processor's cache, and spans that follow no order are left after the first.
LOOKED_AT = 1 << 14


@dataclass(frozen=True)
class Run:
    """The answers place, ..., place + count - 1: number i is of the rows first + i * step, ..., `length` of them."""

    place: int
    count: int
    first: int
    length: int
    step: int

    @property
    def answers(self) -> slice:
        return slice(self.place, self.place + self.count)

    def of(self, table: Numbers, offset: int = 0) -> Numbers:
        """Return a table's values at the spans' first rows, or `offset` rows further on."""
        begin = self.first + offset
        return table[begin : begin + (self.count - 1) * self.step + 1 : self.step]

    def parts(self, rows: int) -> Iterator[tuple[int, Run]]:
        """Cut the run at every `rows` rows. Yield each piece's first row, and its spans by their place in the piece."""
        begun = 0
        while begun < self.count:
            first = self.first + begun * self.step
            low = first // rows * rows
            count = min(self.count - begun, -((first - low - rows) // self.step))
            yield low, replace(self, place=self.place + begun, count=count, first=first - low)
            begun += count


def runs_of(start: Whole, end: Whole, width: int = 1) -> list[Run] | None:
    """All spans of rows of so many values, as runs; None where that is not worth it."""
    if len(start) * width < RUN_MIN:
        return None
    begins, turns = [0], 0
    for low in range(1, len(start) - 1, LOOKED_AT):
        high = min(low + LOOKED_AT, len(start) - 1)
        (places,) = np.nonzero(_turns(start[low - 1 : high + 1]) | _turns(end[low - 1 : high + 1]))
        turns += len(places)
        if turns * RUN_MIN > 2 * (high + LOOKED_AT) * width:
            return None
        for place in (places + low).tolist():
            if place != begins[-1]:  # the first step of a run may be any
                begins.append(place + 1)
    if len(begins) * RUN_MIN > len(start) * width:
        return None
    runs = list[Run]()
    for place, after in zip(begins, [*begins[1:], len(start)], strict=True):
        if _slides(start, end, place, after):
            runs.append(_run(start, end, place, after))
        elif after - place == 2:  # any two are a step apart
            runs += [_run(start, end, place, place + 1), _run(start, end, place + 1, after)]
        else:
            return None
    return runs


def _turns(places: Whole) -> Truth:
    """For all but the first and the last: whether the next is further or less far than the one before."""
    steps = places[1:] - places[:-1]
    changed: Truth = steps[1:] != steps[:-1]
    return changed


def _slides(start: Whole, end: Whole, place: int, after: int) -> bool:
    """Tell whether spans that are one step apart have one length and move forward."""
    last = after - 1
    return last == place or bool(start[last] > start[place] and end[last] - start[last] == end[place] - start[place])


def _run(start: Whole, end: Whole, place: int, after: int) -> Run:
    first = int(start[place])
    step = int(start[place + 1]) - first if after - place > 1 else 1
    return Run(place, after - place, first, int(end[place]) - first, step)


def width_of(values: Numbers) -> int:
    """How many values a row has."""
    return prod(values.shape[1:])


def answers_of(runs: Sequence[Run]) -> int:
    """How many answers they have together."""
    return sum(run.count for run in runs)
