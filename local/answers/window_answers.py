"""The answers of all windows of one group-by and predicate, and what each of its queries takes of them.

Where the outputs of queries are calls as they are, their rows are taken for all of these queries at once, column by
column of the table in which they are stored: what is done for each query by itself does not grow with its rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tidewheel.local.answers.answer_store import Folded
from tidewheel.local.answers.reports import AskedReports
from tidewheel.local.partials.arrow_types import arrow_types_of
from tidewheel.local.partials.fold import aggregate_of
from tidewheel.local.partials.stored_columns import answer_columns
from tidewheel.queries.kernels.arrays import Whole
from tidewheel.queries.standing.query import Call, Query, call_name
from tidewheel.queries.standing.tree import RECORDS


@dataclass(frozen=True)
class WindowAnswers:
    """`groups` and `answers` of the groups of each window, window by window; those of place i begin at `bounds[i]`.

    Without groups there is an answer also where the window is empty: one more answer than there are, the last.
    """

    groups: Sequence[pa.Array]
    answers: Mapping[Call, pa.Array]
    bounds: Whole

    @staticmethod
    def of(groups: Sequence[pa.Array], answers: Mapping[Call, pa.Array], places: Whole, windows: int) -> WindowAnswers:
        """Sort answers by the places of their windows."""
        if (places[1:] < places[:-1]).any():
            order = np.argsort(places, kind="stable")
            in_order, places = pa.array(order), places[order]
            groups = [column.take(in_order) for column in groups]
            answers = {call: column.take(in_order) for call, column in answers.items()}
        if not groups:
            answers = {call: pa.concat_arrays([some, _of_nothing(call, some.type)]) for call, some in answers.items()}
        return WindowAnswers(groups, answers, np.searchsorted(places, np.arange(windows + 1)))

    def plain(self, asked: AskedReports) -> Folded:
        """The stored answers of queries whose outputs are calls as they are."""
        report, taken = self._taken(asked)
        of_query, ends = asked.of_query[report], asked.at_us[report]
        lengths = [one.terms.window_us for one in asked.queries]
        length = np.array([one or 0 for one in lengths], np.int64)[of_query]
        is_endless = np.array([one is None for one in lengths])[of_query]
        columns = {
            "window_start": pa.array(ends - length, mask=is_endless),
            "window_end": pa.array(ends),
            **self._stored_groups(asked.queries[0], pa.array(taken)),
            **self._stored_outputs(asked, of_query, taken),
            "rows": self.answers[RECORDS].take(pa.array(taken)),
            "complete": pa.array(asked.complete[report]),
        }
        return Folded(asked.queries, of_query, pa.table(columns))

    def called(self, asked: AskedReports) -> pa.Table:
        """A row for each report and group of one query, with a column for each call."""
        (query,) = asked.queries
        report, rows = self._taken(asked)
        taken = pa.array(rows)
        columns = {"report": pa.array(asked.at_us[report]), "complete": pa.array(asked.complete[report])}
        for one, values in zip(query.groups, self.groups, strict=True):
            columns[one.name] = values.take(taken)
        for number, call in enumerate((*query.calls, RECORDS)):
            columns[call_name(number)] = self.answers[call].take(taken)
        return pa.table(columns)

    def _taken(self, asked: AskedReports) -> tuple[Whole, Whole]:
        """The rows of all reports: which report each is of, and which answer it has."""
        begins, counts = self.bounds[asked.places], np.diff(self.bounds)[asked.places]
        if not self.groups:
            begins, counts = np.where(counts == 0, self.bounds[-1], begins), np.maximum(counts, 1)
        report = np.repeat(np.arange(len(counts)), counts)
        within = np.arange(len(report)) - np.repeat(np.cumsum(counts) - counts, counts)
        return report, begins[report] + within

    def _stored_groups(self, query: Query, taken: pa.Array) -> dict[str, pa.Array]:
        stored = list(answer_columns(query).values())
        return {name: values.take(taken) for (name, _), values in zip(stored, self.groups, strict=False)}

    def _stored_outputs(self, asked: AskedReports, of_query: Whole, taken: Whole) -> dict[str, pa.Array]:
        """Each stored column, with the call that each query has there."""
        found: dict[tuple[str, str], dict[int, Call]] = {}
        for number, (query, outputs) in enumerate(zip(asked.queries, asked.outputs, strict=True)):
            stored = list(answer_columns(query).values())[len(query.groups) :]
            for column, call in zip(stored, outputs, strict=True):
                found.setdefault(column, {})[number] = call
        kinds = arrow_types_of([kind for _, kind in found])
        return {
            name: self._of_calls(calls, kind, len(asked.queries), of_query, taken)
            for ((name, _), calls), kind in zip(found.items(), kinds, strict=True)
        }

    def _of_calls(self, calls: Mapping[int, Call], kind: Any, queries: int, of_query: Whole, taken: Whole) -> pa.Array:
        """The answers of the call that each query asks, by its number; NULL where it asks none."""
        distinct = list(dict.fromkeys(calls.values()))
        size = len(self.answers[RECORDS])
        begins = np.full(queries, -1)
        begins[list(calls)] = [distinct.index(call) * size for call in calls.values()]
        begin = begins[of_query]
        values = pa.concat_arrays([self.answers[call].cast(kind) for call in distinct])
        return values.take(pa.array(begin + taken, mask=begin < 0))


def _of_nothing(call: Call, kind: Any) -> pa.Array:
    known = aggregate_of(call)
    return pa.array([known.answer(operation.identity for operation in known.operations)], kind)
