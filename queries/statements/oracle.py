"""The judge: the answer of a plan at each tick, computed anew from everything that ever came.

Definition 2.1 and 3.1 of Golab, Waterloo 2006: the answer at τ is the one-time query over what the windows hold at τ,
an NRR being read as it was when the row came. Rows have an identity, so that one can see which of them leaves. Three
choices that the one-time query leaves open are made here and tested as such: δ shows a value by the row that lives
longest when a showing row ends; a bag difference shows the rows that die first; a group's row is its newest value.

Slow and plain on purpose: each tick looks at every input again. A tick first ends rows, then takes what comes.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tidewheel.queries.statements.folding import folded
from tidewheel.queries.statements.history import History, Values
from tidewheel.queries.statements.plan import (
    CountWindow,
    Distinct,
    GroupBy,
    Join,
    Negation,
    Operator,
    PredicateWindow,
    Project,
    RelationJoin,
    Select,
    Stream,
    TimeWindow,
    Union,
)

Identity = tuple[Any, ...]


@dataclass(frozen=True)
class Row:
    """A row of an answer: who it is, its values, when it came, when it ends, and when its output ends (INTERNAL)."""

    identity: Identity
    values: Values
    ts: int
    exp: float = math.inf
    out: float = math.inf


@dataclass
class Oracle:
    """Plays a history against a plan, tick by tick."""

    plan: Operator
    history: History
    _shown: dict[tuple[int, Any], Any] = field(default_factory=dict)  # what δ and ⋈NRR showed before
    _now: int = 0

    def answers(self, until: int) -> list[list[Row]]:
        """Return the answer at each tick from 0 to `until`."""
        found = []
        for self._now in range(until + 1):
            found.append(self._rows(self.plan))
        return found

    def internal_answers(self, until: int) -> list[list[Row]]:
        """Return the answer at each tick where INTERNAL windows keep what was produced: until the outer ones end."""
        produced: dict[Identity, Row] = {}
        found = []
        for now, rows in enumerate(self.answers(until)):
            produced |= {row.identity: row for row in rows}
            found.append([row for row in produced.values() if now < row.out])
        return found

    def _rows(self, one: Operator) -> list[Row]:
        inputs = [self._rows(below) for below in one.inputs]
        return self._way(one)(one, *inputs)

    def _way(self, one: Operator) -> Callable[..., list[Row]]:
        ways: dict[type[Operator], Callable[..., list[Row]]] = {
            Stream: self._stream,
            TimeWindow: self._time_window,
            CountWindow: self._count_window,
            PredicateWindow: self._predicate_window,
            Select: self._select,
            Project: self._project,
            Union: self._union,
            Join: self._join,
            RelationJoin: self._relation_join,
            Distinct: self._distinct,
            Negation: self._negation,
            GroupBy: self._group_by,
        }
        return ways[type(one)]

    def _stream(self, one: Stream) -> list[Row]:
        rows = enumerate(self.history.arrivals)
        return [
            Row((one.columns, place), arrival.values, arrival.ts)
            for place, arrival in rows
            if arrival.stream == one.name and arrival.ts <= self._now
        ]

    def _time_window(self, one: TimeWindow, rows: list[Row]) -> list[Row]:
        out = math.inf if one.internal else one.length
        return [
            Row(row.identity, row.values, row.ts, row.ts + one.length, row.ts + out)
            for row in rows
            if self._now < row.ts + one.length
        ]

    def _count_window(self, one: CountWindow, rows: list[Row]) -> list[Row]:
        by_group: dict[Values, list[Row]] = defaultdict(list)
        for row in rows:
            by_group[_picked(row, one, one.per)].append(row)
        return [row for group in by_group.values() for row in group[-one.rows :]]

    def _predicate_window(self, one: PredicateWindow, rows: list[Row]) -> list[Row]:
        newest = {_picked(row, one, one.key): row for row in rows}
        return [row for row in newest.values() if _holds(one, row)]

    def _select(self, one: Select, rows: list[Row]) -> list[Row]:
        return [row for row in rows if _holds(one, row)]

    def _project(self, one: Project, rows: list[Row]) -> list[Row]:
        return [Row(row.identity, _picked(row, one.input, one.kept), row.ts, row.exp, row.out) for row in rows]

    def _union(self, one: Union, left: list[Row], right: list[Row]) -> list[Row]:
        sides = enumerate((left, right))
        return [Row((side, row.identity), row.values, row.ts, row.exp, row.out) for side, rows in sides for row in rows]

    def _join(self, one: Join, left: list[Row], right: list[Row]) -> list[Row]:
        partners = _by_key(right, one.right, [theirs for _, theirs in one.on])
        return [
            _together(row, other)
            for row in left
            for other in partners.get(_picked(row, one.left, [ours for ours, _ in one.on]), [])
        ]

    def _relation_join(self, one: RelationJoin, rows: list[Row]) -> list[Row]:
        if one.relation.retroactive:
            return [found for row in rows for found in self._looked_up(one, row, self._now + 1)]
        kept = self._shown.setdefault((id(one), "looked up"), {})
        for row in rows:
            if row.identity not in kept:
                kept[row.identity] = self._looked_up(one, row, row.ts)
        return [found for row in rows for found in kept[row.identity]]

    def _looked_up(self, one: RelationJoin, row: Row, before: int) -> list[Row]:
        held: Counter[Values] = Counter()
        for update in self.history.updates:
            if update.relation == one.relation.name and update.at < before:
                held[update.values] += -1 if update.leaves else 1
        key = _picked(row, one.input, [ours for ours, _ in one.on])
        theirs = [one.relation.columns.index(column) for _, column in one.on]
        return [
            Row((row.identity, found), row.values + found, row.ts, row.exp, row.out)
            for found in held.elements()
            if tuple(found[place] for place in theirs) == key
        ]

    def _distinct(self, one: Distinct, rows: list[Row]) -> list[Row]:
        by_value = _by_key(rows, one.input, one.values)
        before = self._shown.get((id(one), "distinct"), {})
        shown = {}
        for value, group in by_value.items():
            kept = before.get(value)
            alive = {row.identity for row in group}
            shown[value] = kept if kept and kept.identity[1] in alive else self._first_shown(one, value, group)
        self._shown[id(one), "distinct"] = shown
        return list(shown.values())

    def _first_shown(self, one: Distinct, value: Values, group: list[Row]) -> Row:
        longest = max(group, key=lambda row: row.exp)
        return Row((value, None if one.counters else longest.identity), value, self._now, longest.exp, longest.out)

    def _negation(self, one: Negation, left: list[Row], right: list[Row]) -> list[Row]:
        against = Counter(_picked(row, one.right, [theirs for _, theirs in one.on]) for row in right)
        groups = _by_key(left, one.left, [ours for ours, _ in one.on])
        if not one.bag:
            return [row for key, group in groups.items() if not against[key] for row in group]
        dying = ((key, sorted(group, key=lambda row: row.exp)) for key, group in groups.items())
        return [row for key, group in dying for row in group[: max(0, len(group) - against[key])]]

    def _group_by(self, one: GroupBy, rows: list[Row]) -> list[Row]:
        groups = _by_key(rows, one.input, one.by)
        if not one.by:
            groups.setdefault((), [])
        found = []
        for key, group in groups.items():
            values = key + tuple(
                folded(fold, [self._value(one, row, fold.column) for row in group]) for fold in one.folds
            )
            found.append(Row((values,), values, self._now))
        return found

    @staticmethod
    def _value(one: GroupBy, row: Row, column: str) -> Any:
        return row.values[one.input.columns.index(column)] if column else True


def contents(rows: Iterable[Row], columns: tuple[str, ...]) -> Counter[frozenset[tuple[str, Any]]]:
    """Return a bag of rows by the names of their columns, so that plans that order them differently compare."""
    return Counter(frozenset(zip(columns, row.values, strict=True)) for row in rows)


def _together(left: Row, right: Row) -> Row:
    """Return a result of a join: it comes with the later part and ends with the first."""
    return Row(
        (left.identity, right.identity),
        left.values + right.values,
        max(left.ts, right.ts),
        min(left.exp, right.exp),
        min(left.out, right.out),
    )


def _picked(row: Row, one: Operator, columns: Iterable[str]) -> Values:
    return tuple(row.values[one.columns.index(column)] for column in columns)


def _holds(one: Select | PredicateWindow, row: Row) -> bool:
    named = dict(zip(one.input.columns, row.values, strict=True))
    return all(condition.holds(named) for condition in one.conditions)


def _by_key(rows: list[Row], one: Operator, columns: Iterable[str]) -> dict[Values, list[Row]]:
    found: dict[Values, list[Row]] = defaultdict(list)
    for row in rows:
        found[_picked(row, one, columns)].append(row)
    return dict(found)
