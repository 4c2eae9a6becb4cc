"""Truth values and bits. and/or of truth values select; of bits they do not; xor is its own inverse."""

from __future__ import annotations

from collections.abc import Callable
from operator import and_, or_, xor
from typing import Any

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.operation import Aggregate, Column, Operation, alone, is_missing
from tidewheel.queries.operations.counting import COUNT

_COLUMNS = (Column("value", "T0"),)


def _truth(value: Any) -> bool | None:
    return None if is_missing(value) else bool(value)


def _bits(value: Any) -> int | None:
    if is_missing(value):
        return None
    if isinstance(value, float):
        raise InvalidInput(f"{value} has no bits to combine", "use whole numbers: bit_or(x::BIGINT)")
    return int(value)


def _all(older: bool, newer: bool) -> bool:
    return older and newer


def _any(older: bool, newer: bool) -> bool:
    return older or newer


def _truths(name: str, combine: Callable[[bool, bool], bool]) -> Operation:
    return Operation(name, _truth, combine, _COLUMNS, selection=True, idempotent=True)


BOOL_AND = _truths("bool_and", _all)
BOOL_OR = _truths("bool_or", _any)
BIT_AND = Operation("bit_and", _bits, and_, _COLUMNS, idempotent=True)
BIT_OR = Operation("bit_or", _bits, or_, _COLUMNS, idempotent=True)
BIT_XOR = Operation("bit_xor", _bits, xor, _COLUMNS, identity=0, evict_oldest=xor)

bool_and, bool_or = alone(BOOL_AND), alone(BOOL_OR)
bit_and, bit_or = alone(BIT_AND), alone(BIT_OR)


def _finish_xor(count: int, bits: int) -> int | None:
    return bits if count else None


bit_xor = Aggregate("bit_xor", (COUNT, BIT_XOR), _finish_xor)
