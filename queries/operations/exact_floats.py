"""Sums of floats without any rounding until the answer.

A double is a whole number of 2^-1074, its square one of 2^-2148. Added up as whole numbers of 2^-2176, nothing is
ever rounded: the order does not matter, nothing drifts, the oldest can be taken away again, and the answer is the
exactly rounded sum whatever the plan was. (Running sums of doubles drift; re-folding them now and then, the usual
cure, is not needed here.) Infinite inputs are counted apart, so that they too can be taken away.

An accumulator is (units, infinite, negative infinite). In a table it is one list (see wide.py) in which two buckets
beyond every double count the infinite inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tidewheel.queries.operation import Column, Operation, is_missing
from tidewheel.queries.operations.wide import BUCKET_BITS, WIDE, load_wide, store_wide

BUCKET_MIN = -68
UNIT_BITS = -BUCKET_MIN * BUCKET_BITS
ONE = 1 << UNIT_BITS
BUCKET_INFINITE = 1000
BUCKET_NEGATIVE_INFINITE = 1001

ExactFloat = tuple[int, int, int]


def _lifted(power: int) -> Callable[..., Any]:
    def lift(value: Any) -> ExactFloat | None:
        if is_missing(value):
            return None
        if math.isinf(value):
            return (0, 1, 0) if value > 0 or power == 2 else (0, 0, 1)
        numerator, denominator = float(value).as_integer_ratio()
        return numerator**power << (UNIT_BITS - power * (denominator.bit_length() - 1)), 0, 0

    return lift


def _add(x: ExactFloat, y: ExactFloat) -> ExactFloat:
    return x[0] + y[0], x[1] + y[1], x[2] + y[2]


def _subtract(total: ExactFloat, oldest: ExactFloat) -> ExactFloat:
    return total[0] - oldest[0], total[1] - oldest[1], total[2] - oldest[2]


def quotient(numerator: int, denominator: int) -> float:
    """Exactly rounded; infinite beyond the largest double."""
    try:
        return numerator / denominator
    except OverflowError:
        return math.inf if numerator > 0 else -math.inf


def lowered(total: ExactFloat, count: int = 1) -> float:
    """The total divided by a count, exactly rounded, infinite inputs as in arithmetic."""
    units, infinite, negative_infinite = total
    if infinite or negative_infinite:
        return math.nan if infinite and negative_infinite else math.inf if infinite else -math.inf
    return quotient(units, count * ONE)


def _store(total: ExactFloat) -> tuple[list[tuple[int, int]]]:
    counts = zip((BUCKET_INFINITE, BUCKET_NEGATIVE_INFINITE), total[1:], strict=True)
    return ([*store_wide(total[0], BUCKET_MIN), *((bucket, n) for bucket, n in counts if n)],)


def _load(values: Sequence[Any]) -> ExactFloat:
    entries = [(bucket, int(units)) for bucket, units in values[0]]
    return (
        load_wide((entry for entry in entries if entry[0] < BUCKET_INFINITE), BUCKET_MIN),
        sum(n for bucket, n in entries if bucket == BUCKET_INFINITE),
        sum(n for bucket, n in entries if bucket == BUCKET_NEGATIVE_INFINITE),
    )


def float_operation(name: str, lift: Callable[..., Any]) -> Operation:
    return Operation(
        name,
        lift,
        _add,
        (Column(name, WIDE),),
        lowered,
        identity=(0, 0, 0),
        evict_oldest=_subtract,
        store=_store,
        load=_load,
    )


FLOAT_SUM = float_operation("sum", _lifted(1))
FLOAT_SUM_OF_SQUARES = float_operation("sum_of_squares", _lifted(2))
