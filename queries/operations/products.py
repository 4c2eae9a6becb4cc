"""Products. Zeros are counted apart, as nothing can be divided by them.

Of whole numbers the product is exact, hence invertible: an old factor is divided out. Of floats a mantissa of 120 bits
and an exponent are kept: no overflow on the way, an error of 2^-118 per factor, and no inverse, because dividing would
pile up such errors. The geometric mean is the exponential of the mean logarithm; a negative number has no logarithm and
is skipped like a NaN, a zero makes the mean zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.operation import Aggregate, Column, Operation, alone, is_missing
from tidewheel.queries.operations.counting import COUNT
from tidewheel.queries.operations.exact_floats import FLOAT_SUM, float_operation, lowered
from tidewheel.queries.operations.whole_sums import checked

Whole = tuple[int, int]  # zeros, product of the others
Real = tuple[int, int, int]  # zeros, mantissa, exponent: worth mantissa × 2^exponent
MANTISSA_BITS = 120


def _lift_whole(value: Any) -> Whole | None:
    if is_missing(value):
        return None
    return (0, int(value)) if value else (1, 1)


def _multiply_whole(x: Whole, y: Whole) -> Whole:
    return x[0] + y[0], x[1] * y[1]


def _divide_whole(total: Whole, oldest: Whole) -> Whole:
    return total[0] - oldest[0], total[1] // oldest[1]


def _lower_whole(accumulator: Whole) -> int:
    zeros, product = accumulator
    return 0 if zeros else checked(product, "product")


def _store_whole(accumulator: Whole) -> tuple[int, int]:
    return accumulator[0], checked(accumulator[1], "product")


def _load_whole(values: Sequence[Any]) -> Whole:
    return int(values[0]), int(values[1])


WHOLE_PRODUCT = Operation(
    "product",
    _lift_whole,
    _multiply_whole,
    (Column("zeros", "BIGINT"), Column("product", "DECIMAL(38,0)")),
    _lower_whole,
    identity=(0, 1),
    evict_oldest=_divide_whole,
    store=_store_whole,
    load=_load_whole,
)


def _lift_real(value: Any) -> Real | None:
    if is_missing(value):
        return None
    if math.isinf(value):
        raise InvalidInput("an infinite factor", "leave it out: product(x) FILTER (WHERE isfinite(x))")
    if not value:
        return 1, 1, 0
    mantissa, exponent = math.frexp(value)
    return 0, int(math.ldexp(mantissa, 53)), exponent - 53


def _multiply_real(x: Real, y: Real) -> Real:
    mantissa, exponent = x[1] * y[1], x[2] + y[2]
    surplus = max(0, mantissa.bit_length() - MANTISSA_BITS)
    return x[0] + y[0], mantissa >> surplus, exponent + surplus


def _lower_real(accumulator: Real) -> float:
    zeros, mantissa, exponent = accumulator
    try:
        return 0.0 if zeros else math.ldexp(float(mantissa), exponent)
    except OverflowError:
        return math.copysign(math.inf, mantissa)


def _load_real(values: Sequence[Any]) -> Real:
    return int(values[0]), int(values[1]), int(values[2])


REAL_PRODUCT = Operation(
    "product",
    _lift_real,
    _multiply_real,
    (Column("zeros", "BIGINT"), Column("mantissa", "DECIMAL(38,0)"), Column("exponent", "BIGINT")),
    _lower_real,
    store=tuple,
    load=_load_real,
)


def _logarithm(value: Any) -> float:
    if is_missing(value) or value < 0:
        return math.nan
    return math.log(value) if value else -math.inf


def _lift_logarithm(value: Any) -> Any:
    return FLOAT_SUM.lift(_logarithm(value))


def _lift_has_logarithm(value: Any) -> Any:
    return COUNT.lift(_logarithm(value))


LOG_SUM = float_operation("log_sum", _lift_logarithm)
LOG_COUNT = Operation(
    "log_count", _lift_has_logarithm, COUNT.combine, COUNT.columns, identity=0, evict_oldest=COUNT.evict_oldest
)


def _finish_geometric(count: int, logarithms: Any) -> float | None:
    return math.exp(lowered(logarithms, count)) if count else None


geometric_mean = Aggregate("geometric_mean", (LOG_COUNT, LOG_SUM), _finish_geometric)


def _finish_whole(count: int, product: Whole) -> int | None:
    return _lower_whole(product) if count else None


whole_product = Aggregate("product", (COUNT, WHOLE_PRODUCT), _finish_whole)
real_product = alone(REAL_PRODUCT)
