"""Bounded lists: the first or last n by time, and all values up to a stated limit, batch by batch, each by time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.operation import Aggregate, Column, Operation, alone, is_missing

_TIMED_LIST = (Column("entries", "STRUCT(moment T1, value T0)[]"),)


def _lift_timed(value: Any, at: Any) -> Any:
    return None if is_missing(value) or is_missing(at) else ((at, value),)


def _values(entries: Any) -> list[Any]:
    return [value for _, value in entries]


def _store(entries: Any) -> tuple[list[Any]]:
    return (list(entries),)


def _load(columns: Sequence[Any]) -> Any:
    return tuple(tuple(entry) for entry in columns[0])


def _checked_limit(name: str, limit: int) -> int:
    if limit < 1:
        raise InvalidInput(f"{name} of {limit} values", "give a positive whole number")
    return limit


def _nearest(name: str, n: int, newest: bool) -> Operation:
    """The n smallest (or largest) of (at, value), ascending: a total order, so commutative."""
    _checked_limit(name, n)

    def combine(older: Any, newer: Any) -> Any:
        entries = sorted(older + newer)
        return tuple(entries[-n:] if newest else entries[:n])

    return Operation(f"{name}({n})", _lift_timed, combine, _TIMED_LIST, _values, store=_store, load=_load)


@cache
def first_n(n: int) -> Aggregate:
    return alone(_nearest("first_n", n, newest=False), ("value", "at"))


@cache
def last_n(n: int) -> Aggregate:
    return alone(_nearest("last_n", n, newest=True), ("value", "at"))


def _lift_one(value: Any) -> Any:
    return None if is_missing(value) else (value,)


def _append(older: Any, newer: Any) -> Any:
    return older + newer


def _without_prefix(total: Any, oldest: Any) -> Any:
    return total[len(oldest) :]


@cache
def concatenation(limit: int) -> Operation:
    """All values in the order in which they are given. Its inverse takes the prefix away: the one class-INV operation
    that is not commutative, so it tells whether a technique takes the right side."""
    _checked_limit("concatenate", limit)

    def checked(values: Any) -> Any:
        if len(values) > limit:
            raise InvalidInput(
                f"concatenate: {len(values)} values, and the limit is {limit}",
                f"raise the limit, concatenate(x, {len(values)}), or use last_n",
            )
        return values

    def lower(values: Any) -> list[Any] | None:
        return list(checked(values)) or None

    def store(values: Any) -> tuple[list[Any]]:
        return (list(checked(values)),)

    def load(columns: Sequence[Any]) -> Any:
        return tuple(columns[0])

    return Operation(
        f"concatenate({limit})",
        _lift_one,
        _append,
        (Column("entries", "T0[]"),),
        lower,
        identity=(),
        evict_oldest=_without_prefix,
        commutative=False,
        store=store,
        load=load,
    )


def concatenate(limit: int) -> Aggregate:
    return alone(concatenation(limit))
