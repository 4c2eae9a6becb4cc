"""Answers of many queries of one tree at once, by the kernels: what `folds` does with a join for each query.

1. Queries of the same groups and predicate share their windows, and each call is folded once for all of these.
2. Accumulators that are added or compared as numbers lie in a grid (`tree_grid`), where that is not much larger than
   the rows, and a fold goes down the grid. Else rows between which no window begins or ends are joined (`tree_rows`),
   where that is possible, and what is left is sorted by group and fragment.
3. Each query takes its own windows (`window_answers`). Where its outputs are calls as they are, that is the answer;
   else its SQL is put over them, as `folds` does.

Where only the living count, each report has rows of its own: those that expire after it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.local.answers.answer_store import Folded
from tidewheel.local.answers.by_sql import Folder, plain_calls
from tidewheel.local.answers.reports import AskedReports, Due, Windows, asked_reports
from tidewheel.local.answers.window_answers import WindowAnswers
from tidewheel.local.answers.window_parts import WindowPart, window_part
from tidewheel.local.partials.accumulator_sql import FLOATS
from tidewheel.local.partials.arrow_types import arrow_types_of
from tidewheel.local.partials.fold import aggregate_of, call_inputs, inputs_of
from tidewheel.local.partials.memory.file_rows import Ways
from tidewheel.local.partials.memory.tree_rows import TreeRows
from tidewheel.queries.kernels.answers import FOLDED_AS_ARRAYS, Folds
from tidewheel.queries.kernels.condensing import joined_by
from tidewheel.queries.kernels.grids import Segments
from tidewheel.queries.kernels.partials import Partials, Scale, Spans
from tidewheel.queries.standing.query import Call, Counts, Query
from tidewheel.queries.standing.staleness import slot_of_report
from tidewheel.queries.standing.tree import RECORDS, Tree
from tidewheel.sql.statements.select_types import answer_type, is_nested

# Answers that are folded from a grid in one go: bounds the memory, not the result.
CELLS_MAX = 1_000_000


def fits(query: Query) -> bool:
    """Tell whether Arrow takes the same groups for equal as DuckDB, and has an order of their values."""
    if any(one.sql_type in FLOATS or one.sql_type.endswith((")", "]")) for one in query.groups):
        return False
    return not any(is_nested(kind) for call in query.calls for kind in call.types)


@dataclass(frozen=True)
class KernelFolder:
    """Folds the partial rows of one tree."""

    tree: Tree
    axis: TimeAxis
    connection: duckdb.DuckDBPyConnection
    rows: TreeRows

    def fold(self, queries: Sequence[Query], due: Due) -> Iterator[Folded]:
        """The answers of queries that have some due."""
        alike: dict[tuple[Any, ...], list[Query]] = {}
        for query in queries:
            if due[query.name]:
                groups, joins = tuple(one.sql for one in query.groups), self._joinable.issuperset(query.calls)
                alike.setdefault((query.where, groups, joins), []).append(query)
        windows: dict[tuple[Any, ...], Windows] = {key: {} for key in alike}
        asked = {key: list(self._asked(some, due, windows[key])) for key, some in alike.items()}
        segments = self._segments({window for key, some in windows.items() if key[2] for window in some})
        for key, some in alike.items():
            answers = _Shared(self, some, windows[key], segments if key[2] else None).window_answers
            for one in asked[key]:
                yield self._folded(answers, one)

    def _asked(self, queries: Sequence[Query], due: Due, windows: Windows) -> Iterator[AskedReports]:
        """Queries whose outputs are calls as they are, all together; of the others, each by itself."""
        outputs = {query.name: plain_calls(query) for query in queries}
        plain = [query for query in queries if outputs[query.name]]
        if plain:
            yield asked_reports(self.tree, plain, [outputs[query.name] for query in plain], due, windows)
        for query in queries:
            if not outputs[query.name]:
                yield asked_reports(self.tree, [query], (), due, windows)

    def _folded(self, answers: WindowAnswers, asked: AskedReports) -> Folded:
        if asked.outputs:
            return answers.plain(asked)
        (query,) = asked.queries
        folder = Folder(query, self.tree, self.axis, self.connection, "")
        return Folded.of(query, folder.answered(answers.called(asked)))

    @cached_property
    def columns(self) -> Mapping[tuple[object, ...], list[str]]:
        """The columns of each accumulator."""
        found, at = {}, 0
        for given in inputs_of(self.tree):
            count = len(given.operation.columns)
            found[given.key] = [f"a{at + place}" for place in range(count)]
            at += count
        return found

    def _segments(self, windows: Collection[tuple[int, int, int]]) -> Segments | None:
        """The tree's grid between these windows, if it has one."""
        if not windows or self.tree.counts is Counts.LIVE or any(is_nested(one.sql_type) for one in self.tree.groups):
            return None
        ways = {
            self.columns[given.key][0]: way
            for given in inputs_of(self.tree)
            if (way := joined_by(given.operation)) is not None
        }
        grid = self.rows.grid.follow(
            self.rows.pieces, self.rows.watermark, [f"g{number}" for number in range(len(self.tree.groups))], ways
        )
        return None if grid is None else grid.between(_edges(windows))

    @cached_property
    def _joinable(self) -> frozenset[Call]:
        """The tree's calls whose accumulators are all joined as numbers."""
        operations = {call: aggregate_of(call).operations for call in self.tree.calls}
        return frozenset(call for call, some in operations.items() if all(joined_by(one) is not None for one in some))

    def ways(self, queries: Iterable[Query]) -> Ways | None:
        """How the accumulators of some queries are joined; None if not all can be."""
        calls = {call for query in queries for call in (*query.calls, RECORDS)}
        found = {
            self.columns[given.key][0]: joined_by(operation)
            for call in calls
            for operation, given in zip(aggregate_of(call).operations, call_inputs(call), strict=True)
        }
        ways = {name: way for name, way in found.items() if way is not None}
        return ways if len(ways) == len(found) else None


@dataclass(frozen=True)
class _Shared:
    """Queries of one group-by and predicate."""

    folder: KernelFolder
    queries: Sequence[Query]
    windows: Windows  # those due
    segments: Segments | None

    @cached_property
    def groups(self) -> dict[str, str]:
        """The groups' columns, by the names of the first query's."""
        kept = [one.sql for one in self.folder.tree.groups]
        return {one.name: f"g{kept.index(one.sql)}" for one in self.queries[0].groups}

    @cached_property
    def ways(self) -> Ways | None:
        return self.folder.ways(self.queries)

    @cached_property
    def bit(self) -> int | None:
        """The predicate's bit in the signatures; None if there is nothing to tell apart."""
        predicates = self.folder.tree.predicates
        return 1 << predicates.index(self.queries[0].where) if len(predicates) > 1 else None

    @cached_property
    def parts(self) -> list[WindowPart]:
        """The rows with the predicate; where only the living count, for each report those that live."""
        if self.segments is not None and self.ways is not None and self.ways.keys() <= self.segments.grid.ways.keys():
            return list(self._gridded(self.segments, list(self.ways)))
        if self.folder.tree.counts is not Counts.LIVE:
            return [window_part(self._rows(self.windows, None), self.groups, self.windows)]
        parts = []
        for living in sorted({one[2] for one in self.windows}):
            windows = {window: place for window, place in self.windows.items() if window[2] == living}
            alive_after = slot_of_report(self.folder.axis, living)
            parts.append(window_part(self._rows(windows, alive_after), self.groups, windows))
        return parts

    def _gridded(self, segments: Segments, names: list[str]) -> Iterator[WindowPart]:
        """The accumulators of each window and group, from the grid; so many windows in one go."""
        groups, roll_up = self.folder.rows.grid.rolled_up(self.groups, self.bit)
        rolled_up, schema = segments.rolled_up(names, roll_up), self.folder.rows.schema
        windows, step = np.array(list(self.windows), np.int64), max(1, CELLS_MAX // max(1, groups.num_rows))
        for begin in range(0, len(windows), step):
            some = windows[begin : begin + step]
            window, group, found = rolled_up.windows(some[:, 0], some[:, 1])
            places = np.arange(len(window))
            columns = {name: total.finished(cells, schema.field(name).type) for name, (total, cells) in found.items()}
            yield WindowPart(
                columns,
                Partials(groups, places, Scale(0, 0, None), None),
                Spans(group, window, places, places + 1),
                window + begin,
            )

    def _rows(self, windows: Iterable[tuple[int, int, int]], alive_after: int | None) -> pa.Table:
        """Rows that serve these windows: joined, or as they are."""
        rows, bit, ways = self.folder.rows, self.bit, self.ways
        if ways is not None:
            joined = rows.joined(list(self.groups.values()), ways, _edges(windows), bit, alive_after)
            if joined is not None:
                return joined
        table = rows.table
        if bit is not None:
            table = table.filter(pc.not_equal(pc.bit_wise_and(table.column("signature"), bit), 0))
        return table if alive_after is None else table.filter(pc.field("expiration") > alive_after)

    @property
    def window_answers(self) -> WindowAnswers:
        places = np.concatenate([part.places for part in self.parts])
        return WindowAnswers.of(self.group_columns, self.answers, places, len(self.windows))

    @property
    def group_columns(self) -> list[pa.Array]:
        """The group of every answer."""
        tables = [part.partials.groups.take(pa.array(part.spans.group)) for part in self.parts]
        return [pa.concat_arrays([chunk for table in tables for chunk in table.column(name).chunks])
                for name in self.groups]  # fmt: skip

    @property
    def answers(self) -> dict[Call, pa.Array]:
        """All answers of every call of the queries, in the order of the parts' spans."""
        calls = dict.fromkeys(call for query in self.queries for call in (*query.calls, RECORDS))
        types = arrow_types_of([answer_type(call) for call in calls])
        return {
            call: pa.concat_arrays([self._answered(part, call, kind) for part in self.parts])
            for call, kind in zip(calls, types, strict=True)
        }

    def _answered(self, part: WindowPart, call: Call, kind: pa.DataType) -> pa.Array:
        known = aggregate_of(call)
        columns = {
            operation: [part.columns[name] for name in self.folder.columns[given.key]]
            for operation, given in zip(known.operations, call_inputs(call), strict=True)
        }
        folds = Folds(part.partials, part.spans, columns)
        if known.name in FOLDED_AS_ARRAYS:
            return folds.answers(known).cast(kind)
        accumulators = [folds.accumulators(operation) for operation in known.operations] if len(part.spans) else []
        return pa.array([known.answer(row) for row in zip(*accumulators, strict=True)], kind)


def _edges(windows: Iterable[tuple[int, int, int]]) -> Any:
    return np.unique(np.array([edge for window in windows for edge in window[:2]], np.int64))
