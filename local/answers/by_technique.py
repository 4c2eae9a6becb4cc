"""Answers by a technique of the literature, where a query file names one: the same answers, one slide after another.

The tree's fragments are joined to those that the query alone would cut, so that a technique sees the window it was made
for, whatever queries share the tree. Each group is a stream of its own. A refresh goes on from the state that the last
one kept (`technique_states.py`), and looks at no older partials; without one it begins with those of the oldest due
window, which is how the state is rebuilt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidewheel.local.partials.accumulator_sql import Input
from tidewheel.local.partials.arrow_types import arrow_types_of
from tidewheel.local.partials.fold import aggregate_of, call_inputs
from tidewheel.queries.choice import choose, technique_named
from tidewheel.queries.kernels.columns import loaded
from tidewheel.queries.shared_plan import SharedPlan, build_shared_plan
from tidewheel.queries.standing.query import Call, Counts, Query, call_name
from tidewheel.queries.standing.staleness import DueReport
from tidewheel.queries.standing.tree import RECORDS, Tree, window_of
from tidewheel.queries.streams import Group, Partials, Streams, plain_key
from tidewheel.queries.technique import Technique
from tidewheel.queries.windows import Window
from tidewheel.sql.statements.select_types import answer_type

KERNELS, SQL = "kernels", "sql"


def named_technique(query: Query) -> type[Technique] | None:
    """The technique that the query names; `InvalidInput` if it would be wrong. None: it names none of them."""
    if query.technique in ("", KERNELS, SQL):
        return None
    technique = technique_named(query.technique)
    plan = build_shared_plan([window_of(query)])
    for call in query.calls:
        for operation in aggregate_of(call).operations:
            choose(operation, plan.counts, lifetimes=query.terms.counts is Counts.LIVE)
            technique.refuse_unfit(operation, plan.counts)
    return technique


@dataclass(frozen=True)
class TechniqueFolder:
    """Folds the partial rows of one tree into answers of one query; `columns` are those of each accumulator."""

    query: Query
    tree: Tree
    rows: pa.Table
    columns: Mapping[tuple[object, ...], list[str]]
    technique: type[Technique]

    def called(self, reports: Sequence[DueReport], kept: Mapping[str, Any] | None = None) -> tuple[pa.Table, Streams]:
        """One row for each report and group, with a column for each call; the last counts the records.

        And the streams as they are then, which began as what was kept of them, or with the oldest window.
        """
        streams, ends = self.streams(), {self.plan.number_of(one.at_us): one for one in reports}
        streams.end = self.plan.number_of(min(one.at_us for one in reports) - self._window.length)
        if kept is not None and streams.end <= kept["end"] <= min(ends):
            streams.restore(kept)
        rows = self._rows_between(streams.end, max(ends))
        counts = {end: self.plan.count(self._window, one.at_us) for end, one in ends.items()}
        answered = [
            (ends[end].at_us, ends[end].complete, *group, *values)
            for group, folds in streams.slide(self._partials(rows), counts)
            for end, folded in folds.items()
            if (values := self._values(folded))[-1] or not self.query.groups
        ]
        return self._table(answered, rows), streams

    @cached_property
    def plan(self) -> SharedPlan:
        """The plan of the fragments that the query alone would cut."""
        return build_shared_plan([self._window])

    def streams(self) -> Streams:
        """Nothing yet of any group."""
        asked = {given.key for call in self.query.calls for given in call_inputs(call)}

        def make() -> list[Technique]:
            made = []
            for given in self._inputs:
                technique = self.technique if given.key in asked else choose(given.operation, self.plan.counts)
                made.append(technique(given.operation, self.plan.counts))
            return made

        return Streams(make, 0)

    @property
    def _calls(self) -> tuple[Call, ...]:
        return (*self.query.calls, RECORDS)

    @property
    def _window(self) -> Window:
        return window_of(self.query)

    @cached_property
    def _inputs(self) -> list[Input]:
        """Each accumulator that the query needs, once."""
        return list({given.key: given for call in self._calls for given in call_inputs(call)}.values())

    def _rows_between(self, first: int, end: int) -> pa.Table:
        """The rows with the predicate of the query's fragments [first, end), oldest first."""
        slices, plan = self.tree.slices, self.plan
        low, high = (slices.number_of(plan.start_of(number)) for number in (first, end))
        fragments, signatures = self.rows.column("fragment"), self.rows.column("signature")
        asked = pc.bit_wise_and(signatures, 1 << self.tree.predicates.index(self.query.where))
        inside = pc.and_(pc.greater_equal(fragments, low), pc.less(fragments, high))
        return self.rows.filter(pc.and_(pc.not_equal(asked, 0), inside)).sort_by("fragment").combine_chunks()

    def _group_columns(self, rows: pa.Table) -> list[pa.ChunkedArray]:
        kept = [one.sql for one in self.tree.groups]
        return [rows.column(f"g{kept.index(one.sql)}") for one in self.query.groups]

    def _partials(self, rows: pa.Table) -> dict[Group, Partials]:
        """The accumulators of each group that has rows, by fragment of the query."""
        slices, operations = self.tree.slices, [given.operation for given in self._inputs]
        found: dict[Group, dict[int, list[Any]]] = {} if self.query.groups else {(): {}}
        accumulators = zip(
            *(loaded(given.operation, [rows.column(one) for one in self.columns[given.key]]) for given in self._inputs),
            strict=True,
        )
        columns = [[plain_key(value) for value in column.to_pylist()] for column in self._group_columns(rows)]
        for place, (fragment, fresh) in enumerate(zip(rows.column("fragment").to_pylist(), accumulators, strict=True)):
            mine = found.setdefault(tuple(column[place] for column in columns), {})
            number = self.plan.number_of(slices.start_of(fragment))
            known = mine.get(number, [operation.identity for operation in operations])
            mine[number] = [
                operation.join(old, new) for operation, old, new in zip(operations, known, fresh, strict=True)
            ]
        return dict(found)

    def _values(self, folded: Sequence[Any]) -> list[Any]:
        """The calls' answers from one report's folds."""
        by_key = {given.key: fold for given, fold in zip(self._inputs, folded, strict=True)}
        return [aggregate_of(call).answer(by_key[given.key] for given in call_inputs(call)) for call in self._calls]

    def _table(self, answered: Sequence[tuple[Any, ...]], rows: pa.Table) -> pa.Table:
        groups = [column.type for column in self._group_columns(rows)]
        types = [pa.int64(), pa.float64(), *groups, *arrow_types_of([answer_type(call) for call in self._calls])]
        names = [
            "report",
            "complete",
            *(one.name for one in self.query.groups),
            *map(call_name, range(len(self._calls))),
        ]
        columns = zip(*answered, strict=True) if answered else [[] for _ in names]
        return pa.table(
            {name: pa.array([_typed(value, kind) for value in values], kind)
             for name, values, kind in zip(names, columns, types, strict=True)}
        )  # fmt: skip


def _typed(value: Any, kind: pa.DataType) -> Any:
    """A value of a plain key as Arrow takes it: structures by their names."""
    if value is None or not pa.types.is_nested(kind):
        return value
    if pa.types.is_struct(kind):
        values = value.values() if isinstance(value, dict) else value
        return {field.name: _typed(one, field.type) for field, one in zip(kind, values, strict=True)}
    return [_typed(one, kind.value_type) for one in value] if pa.types.is_list(kind) else value
