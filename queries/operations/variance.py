"""Sum, average, variance: functions of the exact count, sum and sum of squares, so they share those accumulators.

The textbook's (SS - S²/C)/C loses all digits when it is evaluated in floats. Here S and SS are exact, the numerator
is a whole number, and one division rounds: nothing is more stable, all of it merges, the oldest can be taken away.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

from tidewheel.queries.operation import Aggregate, Operation
from tidewheel.queries.operations.counting import COUNT
from tidewheel.queries.operations.exact_floats import FLOAT_SUM, FLOAT_SUM_OF_SQUARES, ONE, lowered, quotient
from tidewheel.queries.operations.whole_sums import whole_sum, whole_sum_of_squares


@dataclass(frozen=True)
class Numbers:
    """How a type's sums are kept: the operations, and what a whole unit of a sum is worth (1 / unit)."""

    sum: Operation
    squares: Operation
    unit: int
    square_unit: int
    is_float: bool


FLOATS = Numbers(FLOAT_SUM, FLOAT_SUM_OF_SQUARES, ONE, ONE, True)


@cache
def whole_numbers(scale: int = 0) -> Numbers:
    """Integers, and decimals by their scale."""
    return Numbers(whole_sum(scale), whole_sum_of_squares(scale), 10**scale, 100**scale, False)


def total(numbers: Numbers) -> Aggregate:
    def finish(count: int, summed: Any) -> int | Decimal | float | None:
        return numbers.sum.lower(summed) if count else None

    return Aggregate("sum", (COUNT, numbers.sum), finish)


def sum_of_squares(numbers: Numbers) -> Aggregate:
    def finish(count: int, squares: Any) -> int | Decimal | float | None:
        return numbers.squares.lower(squares) if count else None

    return Aggregate("sum_of_squares", (COUNT, numbers.squares), finish)


def average(numbers: Numbers) -> Aggregate:
    def finish(count: int, summed: Any) -> float | None:
        if not count:
            return None
        return lowered(summed, count) if numbers.is_float else quotient(summed, count * numbers.unit)

    return Aggregate("avg", (COUNT, numbers.sum), finish)


def _variance(numbers: Numbers, count: int, summed: Any, squares: Any, lost: int) -> float | None:
    """lost = 1: of a sample; lost = 0: of a whole population."""
    if count <= lost:
        return None
    if numbers.is_float:
        if any(summed[1:]):
            return math.nan
        summed, squares = summed[0], squares[0]
    # (SS/u₂ - S²/(u²C)) / (C - lost), brought to one whole numerator and denominator
    numerator = squares * count * numbers.unit**2 - summed**2 * numbers.square_unit
    return quotient(numerator, numbers.unit**2 * numbers.square_unit * count * (count - lost))


def _moment(name: str, numbers: Numbers, lost: int, then: Callable[[float], float]) -> Aggregate:
    def finish(count: int, summed: Any, squares: Any) -> float | None:
        variance = _variance(numbers, count, summed, squares, lost)
        return None if variance is None else then(variance)

    return Aggregate(name, (COUNT, numbers.sum, numbers.squares), finish)


def _itself(value: float) -> float:
    return value


def var_pop(numbers: Numbers) -> Aggregate:
    return _moment("var_pop", numbers, 0, _itself)


def var_samp(numbers: Numbers) -> Aggregate:
    return _moment("var_samp", numbers, 1, _itself)


def stddev_pop(numbers: Numbers) -> Aggregate:
    return _moment("stddev_pop", numbers, 0, math.sqrt)


def stddev_samp(numbers: Numbers) -> Aggregate:
    return _moment("stddev_samp", numbers, 1, math.sqrt)
