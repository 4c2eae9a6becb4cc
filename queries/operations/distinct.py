"""Distinct values, exactly: the partial is the set itself, so a limit must be stated; past it is an error."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from operator import or_
from typing import Any

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.operation import Aggregate, Column, Operation, is_missing

NO_VALUES: frozenset[Any] = frozenset()


def _lift(value: Any) -> frozenset[Any] | None:
    return None if is_missing(value) else frozenset((value,))


def _load(columns: Sequence[Any]) -> frozenset[Any]:
    return frozenset(columns[0])


@cache
def distinct_values(limit: int) -> Operation:
    """The limit is checked where a set is stored or answered: techniques also combine more than one window's."""
    if limit < 1:
        raise InvalidInput(f"a limit of {limit} distinct values", "give a positive whole number")

    def lower(values: frozenset[Any]) -> list[Any]:
        if len(values) > limit:
            raise InvalidInput(
                f"more than {limit} distinct values: {len(values)}",
                f"raise the limit, count_distinct(x, {len(values)}), or group by the column",
                limit=limit,
            )
        return sorted(values)

    def store(values: frozenset[Any]) -> tuple[list[Any]]:
        return (lower(values),)

    columns = (Column("members", "T0[]"),)
    return Operation(
        f"distinct({limit})", _lift, or_, columns, lower, identity=NO_VALUES, idempotent=True, store=store, load=_load
    )


def count_distinct(limit: int) -> Aggregate:
    operation = distinct_values(limit)

    def finish(values: frozenset[Any]) -> int:
        return len(operation.lower(values))

    return Aggregate(f"count_distinct({limit})", (operation,), finish)


def collect_distinct(limit: int) -> Aggregate:
    operation = distinct_values(limit)

    def finish(values: frozenset[Any]) -> list[Any] | None:
        return operation.lower(values) or None

    return Aggregate(f"collect_distinct({limit})", (operation,), finish)
