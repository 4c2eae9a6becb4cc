"""The value at the largest or smallest of another: arg_max, arg_min, and by time first and last.

Among equals the newest wins, and among those of one moment the larger value: a total order, so that the answer does
not depend on the order in which records of a batch are read, and groups can be rolled up. `by_arrival` are the
forms of the literature, in which nothing but the order of arrival decides; they are not commutative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidewheel.queries.operation import Aggregate, Column, Operation, is_missing

Better = Callable[[Any, Any], bool]


def _pick(better: Better) -> Callable[[Any, Any], Any]:
    def combine(older: Any, newer: Any) -> Any:
        return older if better(older, newer) else newer

    return combine


def _lift_arg(value: Any, by: Any, at: Any) -> Any:
    return None if is_missing(value) or is_missing(by) else (by, at, value)


def _lift_timed(value: Any, at: Any) -> Any:
    return None if is_missing(value) or is_missing(at) else (at, value)


def _last_value(accumulator: Any) -> Any:
    return accumulator[-1]


def _smaller_by(older: Any, newer: Any) -> bool:
    return bool(older[0] < newer[0] or (older[0] == newer[0] and older[1:] > newer[1:]))


def _larger(older: Any, newer: Any) -> bool:
    return bool(older > newer)


def _smaller(older: Any, newer: Any) -> bool:
    return bool(older < newer)


def _operation(name: str, lift: Callable[..., Any], better: Better, columns: tuple[Column, ...]) -> Operation:
    return Operation(
        name, lift, _pick(better), columns, _last_value, selection=True, idempotent=True, store=tuple, load=tuple
    )


def _aggregate(operation: Operation, inputs: tuple[str, ...]) -> Aggregate:
    def finish(accumulator: Any) -> Any:
        return None if accumulator is None else accumulator[-1]

    return Aggregate(operation.name, (operation,), finish, inputs)


_ARG = (Column("by", "T1"), Column("at", "T2"), Column("value", "T0"))
_TIMED = (Column("at", "T1"), Column("value", "T0"))

ARG_MAX = _operation("arg_max", _lift_arg, _larger, _ARG)
ARG_MIN = _operation("arg_min", _lift_arg, _smaller_by, _ARG)
FIRST = _operation("first", _lift_timed, _smaller, _TIMED)
LAST = _operation("last", _lift_timed, _larger, _TIMED)

arg_max = _aggregate(ARG_MAX, ("value", "by", "at"))
arg_min = _aggregate(ARG_MIN, ("value", "by", "at"))
first = _aggregate(FIRST, ("value", "at"))
last = _aggregate(LAST, ("value", "at"))


def _lift_pair(value: Any, by: Any) -> Any:
    return None if is_missing(value) or is_missing(by) else (by, value)


def _lift(value: Any) -> Any:
    return None if is_missing(value) else value


def arg_max_by_arrival(newest_wins: bool = True) -> Operation:
    """Return the operation for a stream in order: among equals it takes the newest, or the oldest."""

    def older_stays(older: Any, newer: Any) -> bool:
        return bool(older[0] > newer[0] if newest_wins else not newer[0] > older[0])

    return Operation(
        "arg_max_by_arrival",
        _lift_pair,
        _pick(older_stays),
        (Column("by", "T1"), Column("value", "T0")),
        _last_value,
        commutative=False,
        selection=True,
        idempotent=True,
        store=tuple,
        load=tuple,
    )


def _always(_older: Any, _newer: Any) -> bool:
    return True


def _never(_older: Any, _newer: Any) -> bool:
    return False


def _by_arrival(name: str, better: Better) -> Operation:
    columns = (Column("value", "T0"),)
    return Operation(name, _lift, _pick(better), columns, commutative=False, selection=True, idempotent=True)


FIRST_BY_ARRIVAL = _by_arrival("first_by_arrival", _always)
LAST_BY_ARRIVAL = _by_arrival("last_by_arrival", _never)
