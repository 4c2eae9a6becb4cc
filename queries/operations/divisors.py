"""The greatest common divisor: associative and idempotent, but neither invertible nor a selection."""

from __future__ import annotations

from math import gcd
from typing import Any

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.operation import Column, Operation, alone, is_missing


def _lift(value: Any) -> int | None:
    if is_missing(value):
        return None
    if int(value) != value:
        raise InvalidInput(f"{value} has no divisors", "gcd takes whole numbers: gcd(x::BIGINT)")
    return abs(int(value))


GCD = Operation("gcd", _lift, gcd, (Column("divisor", "T0"),), idempotent=True)
common_divisor = alone(GCD)
