"""The forms of a statement over sources, each with what a row of it shows, how long it lives and where it lies.

A row ends when the first value in it ends. Between two updates a read of what is stored is therefore never wrong:

    form                    a row lives until                            between updates   lies in the slot of
    where, map, union all   its input's end                              equal             its input
    join                    the least end of its parts                   equal             its last part
    distinct                the greatest end of its duplicates           equal             the one that ends last
    exists                  the least of its own and its longest match's equal             the last of both
    not exists              its own                                      part              its own
    except all              its own; those that end first are kept       part              its own
    left join               the least of what it shows                   part              its left part
    as-of join              the least of both                            part              its left part
    ranked                  its own; with its number shown, the least    part              its own
                            of all better ones' as well

Equal: a read between updates is the statement; part: something may be missing from it, and nothing in it is wrong.
Slow and plain on purpose: this judges every faster way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from operator import eq, gt, lt
from typing import Any

from tidewheel.queries.derivations.windows import Seen, Window

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


_WORDS: Mapping[str, Callable[[Any, Any], bool]] = {"=": eq, "<": lt, ">": gt}


@dataclass(frozen=True)
class Compare:
    """A condition on one row: a column against a constant."""

    column: int
    word: str  # =, <, >
    value: Any

    def holds(self, values: tuple[Any, ...]) -> bool:
        found = values[self.column]
        return found is not None and _WORDS[self.word](found, self.value)


class Form(ABC):
    # Whether reads between updates equal the statement (else they are a part of it).
    is_closed = True

    @property
    @abstractmethod
    def inputs(self) -> tuple[Form, ...]: ...

    @abstractmethod
    def rows(self, seen: Callable[[Source], list[Seen]], at: int) -> list[Row]: ...


@dataclass(frozen=True)
class Source(Form):
    alias: str
    name: str
    window: Window

    @property
    def inputs(self) -> tuple[Form, ...]:
        return ()

    def rows(self, seen: Callable[[Source], list[Seen]], at: int) -> list[Row]:
        return [
            Row(
                one.record.values,
                one.until,
                one.place,
                one.record.time,
                one.record.row_hash,
                one.latest,
                one.meets_until,
                ((self.alias, one.place),),
            )
            for one in seen(self)
        ]


@dataclass(frozen=True)
class One(Form, ABC):
    input: Form

    @property
    def inputs(self) -> tuple[Form, ...]:
        return (self.input,)


@dataclass(frozen=True)
class Two(Form, ABC):
    left: Form
    right: Form

    @property
    def inputs(self) -> tuple[Form, ...]:
        return (self.left, self.right)


@dataclass(frozen=True)
class Where(One):
    condition: Compare

    def rows(self, seen: Callable[[Source], list[Seen]], at: int) -> list[Row]:
        return [row for row in self.input.rows(seen, at) if self.condition.holds(row.values)]


@dataclass(frozen=True)
class Map(One):
    columns: tuple[int, ...]

    def rows(self, seen: Callable[[Source], list[Seen]], at: int) -> list[Row]:
        return [
            replace(row, values=tuple(row.values[column] for column in self.columns))
            for row in self.input.rows(seen, at)
        ]


@dataclass(frozen=True)
class UnionAll(Two):
    def rows(self, seen: Callable[[Source], list[Seen]], at: int) -> list[Row]:
        return self.left.rows(seen, at) + self.right.rows(seen, at)


@dataclass(frozen=True)
class Join(Two):
    on: Pairs

    def rows(self, seen: Callable[[Source], list[Seen]], at: int) -> list[Row]:
        right = self.right.rows(seen, at)
        return [
            _both(one, other, max(one.place, other.place))
            for one in self.left.rows(seen, at)
            for other in right
            if _match(one, other, self.on) and _met(one, other)
        ]


@dataclass(frozen=True)
class Distinct(One):
    def rows(self, seen: Callable[[Source], list[Seen]], at: int) -> list[Row]:
        return [max(group, key=lambda row: row.ranks) for group in _by_values(self.input.rows(seen, at)).values()]


@dataclass(frozen=True)
class Exists(Two):
    on: Pairs

    def rows(self, seen: Callable[[Source], list[Seen]], at: int) -> list[Row]:
        right = self.right.rows(seen, at)
        found = []
        for one in self.left.rows(seen, at):
            matches = [other for other in right if _match(one, other, self.on)]
            if matches:
                last = max(matches, key=lambda row: row.ranks)
                found.append(replace(one, until=min(one.until, last.until), place=max(one.place, last.place)))
        return found


@dataclass(frozen=True)
class NotExists(Two):
    on: Pairs

    is_closed = False

    def rows(self, seen: Callable[[Source], list[Seen]], at: int) -> list[Row]:
        right = self.right.rows(seen, at)
        return [one for one in self.left.rows(seen, at) if not any(_match(one, other, self.on) for other in right)]


@dataclass(frozen=True)
class ExceptAll(Two):
    is_closed = False

    def rows(self, seen: Callable[[Source], list[Seen]], at: int) -> list[Row]:
        taken = _by_values(self.right.rows(seen, at))
        kept = []
        for values, group in _by_values(self.left.rows(seen, at)).items():
            many = max(0, len(group) - len(taken.get(values, [])))
            kept += sorted(group, key=lambda row: row.ranks)[:many]
        return kept


@dataclass(frozen=True)
class LeftJoin(Two):
    on: Pairs
    width: int  # columns of the right side, NULL where there is no match

    is_closed = False

    def rows(self, seen: Callable[[Source], list[Seen]], at: int) -> list[Row]:
        right = self.right.rows(seen, at)
        found = []
        for one in self.left.rows(seen, at):
            matches = [other for other in right if _match(one, other, self.on)]
            found += [_both(one, other, one.place) for other in matches]
            if not matches:
                found.append(replace(one, values=one.values + (None,) * self.width))
        return found


@dataclass(frozen=True)
class AsOf(Two):
    """Each left row with the latest right row strictly before it, by the times of the data."""

    on: Pairs

    is_closed = False

    def rows(self, seen: Callable[[Source], list[Seen]], at: int) -> list[Row]:
        right = self.right.rows(seen, at)
        found = []
        for one in self.left.rows(seen, at):
            before = [other for other in right if _match(one, other, self.on) and _is_before(other, one)]
            if before:
                last = max(before, key=lambda row: (row.time or 0, row.row_hash))
                found.append(_both(one, last, one.place))
        return found


@dataclass(frozen=True)
class Ranked(One):
    """The first so many of each group by a column, the larger first; with their number as a column, or without."""

    per: tuple[int, ...]
    by: int
    most: int
    shows_number: bool = False

    is_closed = False

    def rows(self, seen: Callable[[Source], list[Seen]], at: int) -> list[Row]:
        groups: defaultdict[tuple[Any, ...], list[Row]] = defaultdict(list)
        for row in self.input.rows(seen, at):
            groups[tuple(row.values[column] for column in self.per)].append(row)
        return [row for group in groups.values() for row in self._first(group)]

    def _first(self, group: list[Row]) -> Iterable[Row]:
        ranked = sorted(group, key=lambda row: (row.values[self.by], row.row_hash), reverse=True)[: self.most]
        if not self.shows_number:
            return ranked
        return [
            replace(row, values=(*row.values, number), until=min(better.until for better in ranked[:number]))
            for number, row in enumerate(ranked, start=1)
        ]


def _match(one: Row, other: Row, on: Pairs) -> bool:
    return all(one.values[left] is not None and one.values[left] == other.values[right] for left, right in on)


def _met(one: Row, other: Row) -> bool:
    """Tell whether the last of all parts came before the first window ended."""
    return max(one.latest, other.latest) < min(one.meets_until, other.meets_until)


def _is_before(other: Row, one: Row) -> bool:
    return other.time is not None and one.time is not None and other.time < one.time


def _both(one: Row, other: Row, place: int) -> Row:
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


def _by_values(rows: Iterable[Row]) -> Mapping[tuple[Any, ...], list[Row]]:
    groups: defaultdict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.values].append(row)
    return groups


def forms_of(form: Form) -> list[Form]:
    """Return the form and all below it."""
    return [form, *(below for one in form.inputs for below in forms_of(one))]


def sources_of(form: Form) -> list[Source]:
    return [one for one in forms_of(form) if isinstance(one, Source)]
