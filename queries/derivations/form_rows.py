"""Rows of a form: what each shows, how long it lives and where it lies, and how two of them meet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Part = tuple[str, int]  # alias of a source, insertion slot there
Pairs = tuple[tuple[int, int], ...]  # (column left, column right), equal


@dataclass(frozen=True)
class Row:
    """A row of a form; `parts` are the records whose values it shows.

    `latest` is the latest time of any part, and `meets_until` the least end of their windows.
    """

    values: tuple[Any, ...]
    until: int
    place: int
    time: int | None = None
    row_hash: int = 0
    latest: int = 0
    meets_until: int = 0
    parts: tuple[Part, ...] = ()

    @property
    def ranks(self) -> tuple[int, int, int]:
        """Order rows by their end; those that end together by slot and hash."""
        return self.until, self.place, self.row_hash

    @property
    def stored(self) -> tuple[tuple[Any, ...], int, int]:
        """Return what an archive keeps of the record: values, end and slot."""
        return self.values, self.until, self.place


def agree(one: Row, other: Row, on: Pairs) -> bool:
    return all(one.values[left] is not None and one.values[left] == other.values[right] for left, right in on)


def have_met(one: Row, other: Row) -> bool:
    """Tell whether the last of all parts came before the first window ended."""
    return max(one.latest, other.latest) < min(one.meets_until, other.meets_until)


def is_before(other: Row, one: Row) -> bool:
    return other.time is not None and one.time is not None and other.time < one.time


def joined(one: Row, other: Row, place: int) -> Row:
    """Return a row that shows the values of both."""
    return Row(
        one.values + other.values,
        min(one.until, other.until),
        place,
        one.time,
        combined(one.row_hash, other.row_hash),
        max(one.latest, other.latest),
        min(one.meets_until, other.meets_until),
        one.parts + other.parts,
    )


def combined(one: int, other: int) -> int:
    """Return the hash of a joined row: it follows from those of its parts, in any engine."""
    return (one * 1_000_003 + other) % (2**61 - 1)


def by_values(rows: Iterable[Row]) -> Mapping[tuple[Any, ...], list[Row]]:
    groups: defaultdict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.values].append(row)
    return groups
