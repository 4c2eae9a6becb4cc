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

from tidewheel.queries.derivations.form_rows import Pairs, Row, agree, by_values, have_met, is_before, joined
from tidewheel.queries.derivations.windows import Seen, Window

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
            joined(one, other, max(one.place, other.place))
            for one in self.left.rows(seen, at)
            for other in right
            if agree(one, other, self.on) and have_met(one, other)
        ]


@dataclass(frozen=True)
class Distinct(One):
    def rows(self, seen: Callable[[Source], list[Seen]], at: int) -> list[Row]:
        return [max(group, key=lambda row: row.ranks) for group in by_values(self.input.rows(seen, at)).values()]


@dataclass(frozen=True)
class Exists(Two):
    on: Pairs

    def rows(self, seen: Callable[[Source], list[Seen]], at: int) -> list[Row]:
        right = self.right.rows(seen, at)
        found = []
        for one in self.left.rows(seen, at):
            matches = [other for other in right if agree(one, other, self.on)]
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
        return [one for one in self.left.rows(seen, at) if not any(agree(one, other, self.on) for other in right)]


@dataclass(frozen=True)
class ExceptAll(Two):
    is_closed = False

    def rows(self, seen: Callable[[Source], list[Seen]], at: int) -> list[Row]:
        taken = by_values(self.right.rows(seen, at))
        kept = []
        for values, group in by_values(self.left.rows(seen, at)).items():
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
            matches = [other for other in right if agree(one, other, self.on)]
            found += [joined(one, other, one.place) for other in matches]
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
            before = [other for other in right if agree(one, other, self.on) and is_before(other, one)]
            if before:
                last = max(before, key=lambda row: (row.time or 0, row.row_hash))
                found.append(joined(one, last, one.place))
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


def forms_of(form: Form) -> list[Form]:
    """Return the form and all below it."""
    return [form, *(below for one in form.inputs for below in forms_of(one))]


def sources_of(form: Form) -> list[Source]:
    return [one for one in forms_of(form) if isinstance(one, Source)]
