"""Answers from partial rows: which fragments a report holds, folded by group, and the select's expressions over that.

1. One join of reports with partial rows folds the accumulators of each (report, group), rolled up to the query's own
   groups.
2. Each call is finished: in SQL where that is exact, else by the aggregate itself.
3. Outputs, having, order and limit are SQL over groups and calls, applied to each report by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import duckdb
import pyarrow as pa

from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.printable import first_line
from tidewheel.local.partials.accumulator_sql import Input, combined
from tidewheel.local.partials.arrow_types import arrow_types_of
from tidewheel.local.partials.fold import aggregate_of, call_inputs, inputs_of
from tidewheel.queries.aggregates import ArgumentKind
from tidewheel.queries.standing.query import Call, Counts, Query, call_name
from tidewheel.queries.standing.staleness import DueReport, slot_of_report
from tidewheel.queries.standing.tree import RECORDS, Tree
from tidewheel.sql.engine.quoting import quote_identifier
from tidewheel.sql.statements.select_types import answer_type, argument_of

REPORTS = "tw_reports"
FOLDED = "tw_folded"
CALLED = "tw_called"
# Of calls that are finished in SQL: the accumulator's column that is the value, from the end.
_PLAIN = ("count_rows", "count", "min", "max", "bool_and", "bool_or", "arg_max", "arg_min", "first", "last")


@dataclass(frozen=True)
class Folder:
    """Folds the partial rows of one tree into answers of one query; `partials` names them on the connection."""

    query: Query
    tree: Tree
    axis: TimeAxis
    connection: duckdb.DuckDBPyConnection
    partials: str

    def fold(self, reports: Sequence[DueReport]) -> pa.Table:
        """The answers: window_start, window_end (microseconds), group columns, outputs, rows, complete."""
        self._register_reports(reports)
        inputs = inputs_of(self.tree)
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {FOLDED} AS {self._folding(inputs)}")
        return self.answered(self._called(inputs))

    def answered(self, called: pa.Table) -> pa.Table:
        """The answers from a table of report, complete, groups and calls, the last of which counts the records."""
        self.connection.register(CALLED, called)
        try:
            return self.connection.sql(self._answering()).to_arrow_table()
        except duckdb.Error as error:
            raise InvalidInput(
                f"query {self.query.name} cannot be answered: {first_line(error)}",
                "mend its select or having, for example with nullif against a division by zero, or a wider type",
            ) from error

    def _register_reports(self, reports: Sequence[DueReport]) -> None:
        slices, window_us = self.tree.slices, self.query.terms.window_us
        at = [one.at_us for one in reports]
        first = [-(1 << 62) if window_us is None else slices.number_of(one - window_us) for one in at]
        columns = {
            "report": at,
            "first": first,
            "last": [slices.number_of(one) for one in at],
            "slot_before": [slot_of_report(self.axis, one) for one in at],
        }
        table = {name: pa.array(values, pa.int64()) for name, values in columns.items()}
        table["complete"] = pa.array([one.complete for one in reports], pa.float64())
        self.connection.register(REPORTS, pa.table(table))

    def _folding(self, inputs: Sequence[Input]) -> str:
        bit = 1 << self.tree.predicates.index(self.query.where)
        conditions = ["p.fragment >= r.first", "p.fragment < r.last", f"(p.signature & {bit}) > 0"]
        if self.tree.counts is Counts.LIVE:
            conditions.append("p.expiration > r.slot_before")
        # Without groups there is one answer also where the window is empty.
        join = "JOIN" if self.query.groups else "LEFT JOIN"
        number, columns = 0, list[str]()
        for given in inputs:
            folded = folded_columns(given, number)
            columns += [f"{sql} AS c{len(columns) + place}" for place, sql in enumerate(folded)]
            number += len(given.operation.columns)
        keys = ["r.report", "r.complete", *self._groups]
        return (
            f"SELECT {', '.join([*keys, *columns])} FROM {REPORTS} r {join} {self.partials} p "
            f"ON {' AND '.join(conditions)} GROUP BY ALL"
        )

    @cached_property
    def _groups(self) -> list[str]:
        kept = [one.sql for one in self.tree.groups]
        return [f"p.g{kept.index(one.sql)} AS {quote_identifier(one.name)}" for one in self.query.groups]

    def _called(self, inputs: Sequence[Input]) -> pa.Table:
        """The folded rows with a column for each call of the query, and how many records there were."""
        finished: list[str] = []
        slow: list[tuple[int, Call, list[str]]] = []
        for number, call in enumerate((*self.query.calls, RECORDS)):
            columns = self._columns_of(call, inputs)
            sql = _finished_in_sql(call, columns)
            if sql is None:
                slow.append((number, call, columns))
                sql = f"NULL::{answer_type(call)}"
            finished.append(f"{sql} AS {quote_identifier(call_name(number))}")
        groups = [quote_identifier(one.name) for one in self.query.groups]
        raw = sorted({column for _, _, columns in slow for column in columns})
        query = f"SELECT {', '.join(['report', 'complete', *groups, *finished, *raw])} FROM {FOLDED}"
        table = self.connection.sql(query).to_arrow_table()
        for number, call, columns in slow:
            position = table.schema.get_field_index(call_name(number))
            values = [_answer(call, list(row.values())) for row in table.select(columns).to_pylist()]
            (kind,) = arrow_types_of([answer_type(call)])
            table = table.set_column(position, call_name(number), pa.array(values, kind))
        return table.drop_columns(raw) if raw else table

    def _columns_of(self, call: Call, inputs: Sequence[Input]) -> list[str]:
        """The folded columns that a call is finished from."""
        columns, at = {}, 0
        for given in inputs:
            count = len(folded_columns(given))
            columns[given.key] = [f"c{at + place}" for place in range(count)]
            at += count
        return [column for given in call_inputs(call) for column in columns[given.key]]

    def _answering(self) -> str:
        query = self.query
        window_us = query.terms.window_us
        start = "NULL::BIGINT" if window_us is None else f"report - {window_us}"
        groups = [quote_identifier(one.name) for one in query.groups]
        outputs = [f"({one.sql})::{one.sql_type} AS {quote_identifier(one.name)}" for one in query.outputs]
        rows = quote_identifier(call_name(len(query.calls)))
        columns = [f"{start} AS window_start, report AS window_end", *groups, *outputs, f"{rows} AS rows", "complete"]
        sql = f"SELECT {', '.join(columns)} FROM {CALLED}"
        if query.having:
            sql += f" WHERE ({query.having})"  # it may name the outputs beside it
        if query.limit is not None:
            ties = "".join(f", {one}" for one in groups)
            order = f"PARTITION BY report ORDER BY {query.order_by}{ties}"
            sql += f" QUALIFY row_number() OVER ({order}) <= {query.limit}"
        return sql + " ORDER BY ALL"


def plain_calls(query: Query) -> tuple[Call, ...]:
    """The call that each output of a query is as it stands; none if the answers are not the calls as they are."""
    if query.having or query.limit is not None:
        return ()
    calls = dict(zip(map(_spelled, range(len(query.calls))), query.calls, strict=True))
    found = [(calls.get(one.sql), one.sql_type) for one in query.outputs]
    plain = tuple(call for call, kind in found if call is not None and answer_type(call) == kind)
    return plain if len(plain) == len(found) else ()


@cache
def _spelled(number: int) -> str:
    """A call as outputs name it."""
    return str(quote_identifier(call_name(number)))


def folded_columns(given: Input, number: int = 0) -> tuple[str, ...]:
    """The SQL that folds an accumulator whose columns begin at a number; a list where SQL has no exact way."""
    stored = [f"p.a{number + place}" for place in range(len(given.operation.columns))]
    return combined(given, stored) or (_listed(stored),)


def _listed(columns: Sequence[str]) -> str:
    entry = ", ".join(f"'s{number}': {column}" for number, column in enumerate(columns))
    return f"list({{{entry}}} ORDER BY p.fragment) FILTER (WHERE {columns[0]} IS NOT NULL)"


def _answer(call: Call, values: list[Any]) -> Any:
    """A call's value from the folded columns of its operations."""
    accumulators = []
    for given in call_inputs(call):
        count = len(folded_columns(given))
        accumulators.append(_accumulator(given, values[:count]))
        values = values[count:]
    return aggregate_of(call).answer(accumulators)


def _accumulator(given: Input, values: Sequence[Any]) -> Any:
    operation = given.operation
    if combined(given, ["x"] * len(operation.columns)) is None:
        rows = (tuple(map(_plain_value, row.values())) for row in values[0] or ())
        return operation.fold(operation.load(row) for row in rows)
    return operation.identity if values[0] is None else operation.load([_plain_value(value) for value in values])


def _plain_value(value: Any) -> Any:
    """Structures as Arrow gives them, as the tuples that operations store."""
    if isinstance(value, list):
        return [tuple(one.values()) if isinstance(one, dict) else one for one in value]
    return value


def _finished_in_sql(call: Call, columns: Sequence[str]) -> str | None:
    if call.aggregate in _PLAIN:
        return columns[-1]
    if call.aggregate == "sum" and argument_of(call.types[0]).kind is not ArgumentKind.FLOAT:
        return f"CASE WHEN {columns[0]} > 0 THEN {columns[1]} END"
    return None
