"""Sums and sums of squares of whole numbers and decimals: exact, a decimal as the whole number of its last places.

Between fragments nothing overflows. What is stored or answered must fit DECIMAL(38): more is an error, never a wrap.
Sums of squares are stored wide (see exact_floats), as they leave 38 digits early.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal, Inexact
from functools import cache
from operator import add, sub
from typing import Any

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.operation import Column, Operation, is_missing
from tidewheel.queries.operations.wide import WIDE, load_wide, store_wide

DIGITS_MAX = 38
# Contexts of their own: the thread's default would round a decimal to 28 digits.
EXACT = Context(prec=10 * DIGITS_MAX, traps=[Inexact])


def checked(total: int, what: str) -> int:
    if abs(total) >= 10**DIGITS_MAX:
        raise InvalidInput(
            f"{what} overflows: {total} has more than {DIGITS_MAX} digits",
            f"sum a wider type, {what}(x::DOUBLE), or a shorter window",
            total=total,
        )
    return total


def unscaled(value: int | Decimal, scale: int) -> int:
    """A decimal in units of its last place; more places than the type has are refused, not rounded."""
    if not scale and isinstance(value, int):
        return int(value)
    moved = Decimal(value).scaleb(scale, EXACT)
    whole = int(moved)
    if whole != moved:
        raise InvalidInput(f"{value} has more than {scale} places", "give the argument its true type")
    return whole


def rescaled(total: int, scale: int) -> int | Decimal:
    return Decimal(total).scaleb(-scale, EXACT) if scale else total


def _lifted(scale: int, power: int) -> Callable[..., Any]:
    def lift(value: Any) -> int | None:
        return None if is_missing(value) else unscaled(value, scale) ** power

    return lift


@cache
def whole_sum(scale: int = 0) -> Operation:
    def lower(total: int) -> int | Decimal:
        return rescaled(checked(total, "sum"), scale)

    def store(total: int) -> tuple[int | Decimal]:
        return (lower(total),)

    def load(values: Any) -> int:
        return unscaled(values[0], scale)

    return Operation(
        "sum",
        _lifted(scale, 1),
        add,
        (Column("sum", f"DECIMAL(38,{scale})"),),
        lower,
        identity=0,
        evict_oldest=sub,
        store=store,
        load=load,
    )


@cache
def whole_sum_of_squares(scale: int = 0) -> Operation:
    def lower(total: int) -> int | Decimal:
        return rescaled(checked(total, "sum_of_squares"), 2 * scale)

    def store(total: int) -> tuple[Any]:
        return (store_wide(total),)

    def load(values: Any) -> int:
        return load_wide(values[0])

    return Operation(
        "sum_of_squares",
        _lifted(scale, 2),
        add,
        (Column("sum_of_squares", WIDE),),
        lower,
        identity=0,
        evict_oldest=sub,
        store=store,
        load=load,
    )
