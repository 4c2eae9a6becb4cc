"""Answers by a technique of the literature, where a query file names one: the same answers, one slide after another.

The tree's fragments are joined to those that the query alone would cut, so that a technique sees the window it was made
for, whatever queries share the tree. Each group is a stream of its own; a refresh inserts the partials of the oldest
due window and on, which is how a technique's state is rebuilt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidewheel.local.standing.arrow_types import arrow_types_of
from tidewheel.local.standing.partials import aggregate_of, call_inputs
from tidewheel.queries.choice import choose, technique_named
from tidewheel.queries.kernels.columns import loaded
from tidewheel.queries.operation import Operation
from tidewheel.queries.shared_plan import SharedPlan, build_shared_plan
from tidewheel.queries.standing.query import Call, Counts, Query, call_name
from tidewheel.queries.standing.staleness import DueReport
from tidewheel.queries.standing.tree import RECORDS, Tree, window_of
from tidewheel.queries.technique import Technique
from tidewheel.sql.select_types import answer_type

KERNELS, SQL = "kernels", "sql"
Group = tuple[Any, ...]


def named_technique(query: Query) -> type[Technique] | None:
    """The technique that the query names; `InvalidInput` if it would be wrong. None: it names none of them."""
    if query.technique in ("", KERNELS, SQL):
        return None
    technique = technique_named(query.technique)
    plan = build_shared_plan([window_of(query)])
    for call in query.calls:
        for operation in aggregate_of(call).operations:
            choose(operation, plan.counts, lifetimes=query.terms.counts is Counts.LIVE)
            technique(operation, plan.counts)
    return technique


@dataclass(frozen=True)
class TechniqueFolder:
    """Folds the partial rows of one tree into answers of one query; `columns` are those of each accumulator."""

    query: Query
    tree: Tree
    rows: pa.Table
    columns: Mapping[tuple[object, ...], list[str]]
    technique: type[Technique]

    def called(self, reports: Sequence[DueReport]) -> pa.Table:
        """One row for each report and group, with a column for each call; the last counts the records."""
        calls = (*self.query.calls, RECORDS)
        groups = self._groups or ({(): []} if not self.query.groups else {})
        rows = [row for group, places in groups.items() for row in self._slid(group, places, calls, reports)]
        types = [pa.int64(), pa.float64(), *self._group_types, *arrow_types_of([answer_type(call) for call in calls])]
        names = ["report", "complete", *(one.name for one in self.query.groups), *map(call_name, range(len(calls)))]
        columns = zip(*rows, strict=True) if rows else [[] for _ in names]
        return pa.table(
            {name: pa.array(values, kind) for name, values, kind in zip(names, columns, types, strict=True)}
        )

    @cached_property
    def plan(self) -> SharedPlan:
        """What the query alone would cut."""
        return build_shared_plan([window_of(self.query)])

    @cached_property
    def _mine(self) -> pa.Table:
        """The rows with the predicate, oldest first."""
        bit = 1 << self.tree.predicates.index(self.query.where)
        signatures = pc.bit_wise_and(self.rows.column("signature"), bit)
        return self.rows.filter(pc.not_equal(signatures, 0)).sort_by("fragment").combine_chunks()

    @cached_property
    def _fragments(self) -> list[int]:
        slices = self.tree.slices
        return [self.plan.number_of(slices.start_of(number)) for number in self._mine.column("fragment").to_pylist()]

    @cached_property
    def _group_columns(self) -> list[pa.ChunkedArray]:
        kept = [one.sql for one in self.tree.groups]
        return [self._mine.column(f"g{kept.index(one.sql)}") for one in self.query.groups]

    @property
    def _group_types(self) -> list[pa.DataType]:
        return [column.type for column in self._group_columns]

    @cached_property
    def _groups(self) -> dict[Group, list[int]]:
        """The rows of each group."""
        found: dict[Group, list[int]] = {}
        values = [column.to_pylist() for column in self._group_columns]
        for place in range(self._mine.num_rows):
            found.setdefault(tuple(column[place] for column in values), []).append(place)
        return found

    @cached_property
    def _accumulators(self) -> dict[tuple[object, ...], list[Any]]:
        """Of each accumulator that the query needs, its values by row."""
        found = {}
        for call in (*self.query.calls, RECORDS):
            for operation, given in zip(aggregate_of(call).operations, call_inputs(call), strict=True):
                if given.key not in found:
                    found[given.key] = loaded(operation, [self._mine.column(one) for one in self.columns[given.key]])
        return found

    def _slid(
        self, group: Group, places: Sequence[int], calls: Sequence[Call], reports: Sequence[DueReport]
    ) -> Iterator[tuple[Any, ...]]:
        answers = [self._answers(call, places, reports) for call in calls]
        for report in reports:
            values = [found[report.at_us] for found in answers]
            if values[-1] or not self.query.groups:
                yield (report.at_us, report.complete, *group, *values)

    def _answers(self, call: Call, places: Sequence[int], reports: Sequence[DueReport]) -> dict[int, Any]:
        """By report, a call's answer in one group."""
        known = aggregate_of(call)
        parts = [
            self._stream(operation, [(self._fragments[at], self._accumulators[given.key][at]) for at in places],
                         reports, choose(operation, self.plan.counts) if call is RECORDS else self.technique)
            for operation, given in zip(known.operations, call_inputs(call), strict=True)
        ]  # fmt: skip
        return {one.at_us: known.answer(part[one.at_us] for part in parts) for one in reports}

    def _stream(
        self,
        operation: Operation,
        partials: Sequence[tuple[int, Any]],
        reports: Sequence[DueReport],
        technique: type[Technique],
    ) -> dict[int, Any]:
        """The folds of one accumulator at each report."""
        by_fragment: dict[int, Any] = {}
        for number, accumulator in partials:
            by_fragment[number] = operation.join(by_fragment.get(number, operation.identity), accumulator)
        window, running = window_of(self.query), technique(operation, self.plan.counts)
        ends = {self.plan.number_of(one.at_us): one.at_us for one in reports}
        first = self.plan.number_of(min(ends.values()) - window.length)
        found = {}
        for number in range(first, max(ends)):
            running.insert(by_fragment.get(number, operation.identity))
            if number + 1 in ends:
                at_us = ends[number + 1]
                found[at_us] = running.query(self.plan.count(window, at_us))
        return found
