"""Bounded lists by time, and what is of one time by value: the first or last n, and all up to a stated limit."""

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


def _by_time(older: Any, newer: Any) -> Any:
    """Late records stand where their time is."""
    entries = older + newer
    return entries if not older or not newer or older[-1] <= newer[0] else tuple(sorted(entries))


def _without(total: Any, oldest: Any) -> Any:
    """Entries that are equal cannot be told apart, so it does not matter which of them go."""
    going = iter(oldest)
    gone = next(going, None)
    left = []
    for entry in total:
        if entry == gone:
            gone = next(going, None)
        else:
            left.append(entry)
    return tuple(left)


@cache
def listing(limit: int) -> Operation:
    """All values by (at, value): a total order, so neither files nor batches, plans or techniques change it."""
    _checked_limit("concatenate", limit)

    def checked(entries: Any) -> Any:
        if len(entries) > limit:
            raise InvalidInput(
                f"concatenate: {len(entries)} values, and the limit is {limit}",
                f"raise the limit, concatenate(x, {len(entries)}), or use last_n",
            )
        return entries

    def lower(entries: Any) -> list[Any] | None:
        return _values(checked(entries)) or None

    def store(entries: Any) -> tuple[list[Any]]:
        return _store(checked(entries))

    return Operation(
        f"concatenate({limit})",
        _lift_timed,
        _by_time,
        _TIMED_LIST,
        lower,
        identity=(),
        evict_oldest=_without,
        store=store,
        load=_load,
    )


def concatenate(limit: int) -> Aggregate:
    return alone(listing(limit), ("value", "at"))
