"""Bounded memory: the queries over unbounded streams that do with it (section 2.2.1; Arasu et al., 2002).

An attribute is bounded if constants bound it from both sides, by itself or through attributes that it is compared
with. One stream alone is a filter: any memory does while duplicates are kept; without duplicates what is kept must
be bounded. Over several streams what is kept, and both sides of each equality, must be bounded. An inequality between
unbounded attributes makes every pair count while duplicates are kept; without them one attribute a stream may be so,
because its least or greatest value decides (min B for each A, max D). Whole numbers are assumed.

Follows the survey's examples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tidewheel.queries.statements.conditions import Comparison

_UPPER, _LOWER = ("<", "<=", "="), (">", ">=", "=")


def is_bounded(kept: Sequence[str], where: Sequence[Comparison], *, distinct: bool) -> bool:
    """Return if memory that does not grow answers the query, which keeps these columns.

    >>> is_bounded(["S.A"], [Comparison("S.A", ">", 10)], distinct=False)
    True
    """
    bounded = _on_one_side(where, _UPPER) & _on_one_side(where, _LOWER)
    joins = [one for one in where if one.with_column and _stream(one.column) != _stream(one.value)]
    must = set(kept) | {column for one in joins if one.sign == "=" for column in one.columns}
    if not joins:
        return not distinct or must <= bounded
    open_ends = {column for one in joins for column in one.columns} - bounded
    by_stream = Counter(map(_stream, open_ends))
    return must <= bounded and max(by_stream.values(), default=0) <= int(distinct)


def _stream(column: str) -> str:
    return column.split(".", maxsplit=1)[0]


def _on_one_side(where: Sequence[Comparison], signs: tuple[str, ...]) -> set[str]:
    """Return the columns that a constant bounds from one side, directly or through others."""
    found = {one.column for one in where if not one.with_column and one.sign in signs}
    pairs = [pair for one in where if one.with_column for pair in _bounds(one, signs)]
    while more := {column for column, by in pairs if by in found} - found:
        found |= more
    return found


def _bounds(one: Comparison, signs: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Give the columns that the comparison bounds on a side, each with the column that bounds it."""
    other = _LOWER if signs is _UPPER else _UPPER
    if one.sign in signs:
        yield one.column, one.value
    if one.sign in other:
        yield one.value, one.column
