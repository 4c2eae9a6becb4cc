"""Queries with different group-bys share partials: kept by the union of their columns, rolled up to those of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.operation import Operation

Key = tuple[Any, ...]


def union_of_columns(group_bys: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Every column once, in order of appearance."""
    return tuple(dict.fromkeys(column for columns in group_bys for column in columns))


def check_roll_up(operation: Operation, kept: Sequence[str], wanted: Sequence[str]) -> None:
    """Rolling up mixes groups whose records came in turns, so the order within the result is lost."""
    unknown = [column for column in wanted if column not in kept]
    if unknown:
        raise InvalidInput(f"partials are not kept by {', '.join(unknown)}", f"they are kept by {', '.join(kept)}")
    if not operation.commutative and set(kept) != set(wanted):
        raise InvalidInput(
            f"'{operation.name}' depends on the order of records, which rolling up groups would lose",
            f"plan it in a tree of its own, grouped by {', '.join(wanted) or 'nothing'}",
        )


def roll_up(
    operation: Operation, rows: Iterable[tuple[Key, Any]], kept: Sequence[str], wanted: Sequence[str]
) -> dict[Key, Any]:
    """Accumulators by key over the kept columns, folded by key over the wanted ones, in order."""
    check_roll_up(operation, kept, wanted)
    positions = [kept.index(column) for column in wanted]
    rolled: dict[Key, Any] = {}
    for key, accumulator in rows:
        short = tuple(key[position] for position in positions)
        rolled[short] = operation.join(rolled.get(short), accumulator)
    return rolled
