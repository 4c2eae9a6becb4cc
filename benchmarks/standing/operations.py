"""Operations of techniques and kernels, counted: what does not depend on a machine."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tidewheel.queries.choice import TECHNIQUES, choose
from tidewheel.queries.operation import AlgebraClass
from tidewheel.queries.operations.extremes import MAX
from tidewheel.queries.operations.whole_sums import whole_sum
from tidewheel.queries.shared_plan import build_shared_plan
from tidewheel.queries.technique_costs import cost
from tidewheel.queries.windows import Window

SEED = 7
RANGES = 64
SLIDES_COUNTED = 4_096


def many_operations(size: int = 1024) -> Iterator[dict[str, Any]]:
    """Of 64 ranges at every slide: SlickDeque's, counted, and those of the kernels, which are given."""
    ranges = sorted({int(n) for n in np.geomspace(16, size, RANGES)})
    for operation, who, ours in (
        (whole_sum(), "prefix sums", 1 + len(ranges)),  # a running total, a difference for each range
        (MAX, "doubling tables", size.bit_length() - 1 + len(ranges)),  # a row of each table, two that overlap
    ):
        make = choose(operation, ranges)
        technique, chance, before = make(operation, ranges), random.Random(SEED), 0
        for turn in range(2 * size + SLIDES_COUNTED):
            if turn == 2 * size:
                before = technique.calls
            technique.insert(chance.randrange(10**9))
            technique.query_many(ranges)
        counted = (technique.calls - before) / SLIDES_COUNTED
        yield {"of": operation.name, "ranges": len(ranges), "technique": make.name, "counted": counted,
               "who": who, "ours": ours}  # fmt: skip


def operations(sizes: Sequence[int] = (16, 64, 256, 1024)) -> Iterator[dict[str, Any]]:
    """Of every technique, how many operations a slide takes, counted; and what the published formula says."""
    for make in TECHNIQUES:
        operation = MAX if AlgebraClass.SEL in make.classes else whole_sum()
        for size in sizes:
            technique, chance = make(operation, [size]), random.Random(SEED)
            for _ in range(2 * size):
                technique.insert(chance.randrange(10**9))
                technique.query(size)
            before = technique.calls
            for _ in range(SLIDES_COUNTED):
                technique.insert(chance.randrange(10**9))
                technique.query(size)
            formula = cost(make, operation, build_shared_plan([Window(size, 1)])).mean
            counted = (technique.calls - before) / SLIDES_COUNTED
            yield {"technique": make.name, "of": operation.name, "n": size, "counted": counted, "formula": formula}
