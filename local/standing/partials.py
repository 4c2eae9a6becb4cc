"""Partial aggregates of one batch: rows of a slot in, one row for each fragment, signature and group out.

1. Each record gets its time, and with it a fragment; its signature, by the predicates of the tree; its group.
2. DuckDB folds each group, by the SQL of `partial_sql`; operations that SQL has no exact way for fold lists.
3. A digest of each fragment is taken over its rows in a fixed order: equal data give equal digests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.local.standing.distinct_sketches import installed
from tidewheel.local.standing.partial_sql import Input, buckets_query, collected, lifted
from tidewheel.queries.aggregates import aggregate
from tidewheel.queries.operation import Aggregate, Operation
from tidewheel.queries.signatures import EVERY_ROW
from tidewheel.queries.standing.query import Call, Counts
from tidewheel.queries.standing.tree import Tree
from tidewheel.sql.quoting import quote_identifier
from tidewheel.sql.select_types import argument_of

AT = '"tw at"'
FRAGMENTS = "tw_fragments"
ROWS = "tw_rows"


def aggregate_of(call: Call) -> Aggregate:
    """The catalogue's aggregate for a call."""
    argument = argument_of(call.types[0] if call.types else "")
    return aggregate(call.aggregate, argument, call.limit, call.fraction, installed())


def call_inputs(call: Call) -> tuple[Input, ...]:
    """What a call needs: an accumulator for each operation of its aggregate."""
    known = aggregate_of(call)
    arguments, types = call.arguments, call.types
    if "at" in known.inputs:
        arguments, types = (*arguments, AT), (*types, "BIGINT")
    return tuple(
        Input(operation, *((), ()) if operation.name == "count_rows" else (arguments, types), call.limit)
        for operation in known.operations
    )


def inputs_of(tree: Tree) -> tuple[Input, ...]:
    """What a tree's partial rows hold: each accumulator once, in a fixed order."""
    return tuple({given.key: given for call in tree.calls for given in call_inputs(call)}.values())


@dataclass(frozen=True)
class PartialBuilder:
    """Builds the partials of one tree from rows of one slot at a time; `rows` names them on the connection."""

    tree: Tree
    axis: TimeAxis
    connection: duckdb.DuckDBPyConnection

    def build(self, slot: int, rows: str, oldest_us: int) -> pa.Table:
        """The partial rows of a slot: fragment, signature, expiration (of the living), groups g0…, accumulators a0….

        Records whose time is before `oldest_us` matter to nobody any more, but where windows have no beginning.
        """
        placed = self._placed(slot, rows, oldest_us)
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {ROWS} AS {placed}")
        self._make_fragments()
        inputs = inputs_of(self.tree)
        columns = [column for given in inputs for column in self._columns(given)]
        keys = ["f.fragment", '"tw signature" AS signature', *self._expiration()]
        keys += [f"{one.sql} AS g{number}" for number, one in enumerate(self.tree.groups)]
        named = [f"{sql} AS a{number}" for number, sql in enumerate(columns)]
        query = (
            f"SELECT {', '.join([*keys, *named])} FROM {ROWS} ASOF JOIN {FRAGMENTS} f ON {AT} >= f.start "
            f"GROUP BY ALL ORDER BY ALL"
        )
        return self._folded(self.connection.sql(query).to_arrow_table(), inputs)

    def _placed(self, slot: int, rows: str, oldest_us: int) -> str:
        tree, start_us = self.tree, self.axis.start_us(slot)
        at = f"epoch_us({quote_identifier(tree.time)})" if tree.time else str(start_us)
        if tree.endless:
            at = f"if({at} < {oldest_us}, {oldest_us}, {at})"
        bits = [
            str(1 << bit) if text == EVERY_ROW else f"if(coalesce(({text}), false), {1 << bit}, 0)"
            for bit, text in enumerate(tree.predicates)
        ]
        time_max_us = self.axis.end_us(slot) + tree.ahead_us
        return (
            f'SELECT *, {at} AS {AT}, ({" + ".join(bits)})::INTEGER AS "tw signature" FROM {rows} '
            f'WHERE {at} >= {oldest_us} AND {at} < {time_max_us} AND "tw signature" > 0'
        )

    def _expiration(self) -> list[str]:
        return ["exp_slot AS expiration"] if self.tree.counts is Counts.LIVE else []

    def _make_fragments(self) -> None:
        """The fragments that the rows fall into, by where each starts."""
        slices = self.tree.slices
        low, high = self.connection.execute(f"SELECT min({AT}), max({AT}) FROM {ROWS}").fetchall()[0]
        numbers = [] if low is None else range(slices.number_of(low), slices.number_of(high) + 1)
        starts = pa.array([slices.start_of(number) for number in numbers], pa.int64())
        table = pa.table({"fragment": pa.array(numbers, pa.int64()), "start": starts})
        self.connection.register(FRAGMENTS, table)

    def _columns(self, given: Input) -> Sequence[str]:
        buckets: list[int] = []
        if given.needs_buckets:
            buckets = [row[0] for row in self.connection.execute(buckets_query(given, ROWS)).fetchall()]
        columns = lifted(given, buckets)
        if columns is None:
            return (collected(given),)
        return [f"({sql})::{kind}" for sql, kind in zip(columns, given.column_types, strict=True)]

    def _folded(self, table: pa.Table, inputs: Sequence[Input]) -> pa.Table:
        """The table with lists of inputs folded into accumulators; a0… are then the columns of all operations."""
        columns = {name: table.column(name) for name in table.column_names if name[0] != "a"}
        count, wanted = 0, iter(range(len(table.column_names)))
        for given in inputs:
            plain = lifted(given) is not None
            taken = [table.column(f"a{next(wanted)}") for _ in (given.operation.columns if plain else (0,))]
            for column in taken if plain else self._stored(given, taken[0]):
                columns[f"a{count}"] = column
                count += 1
        return pa.table(columns)

    def _stored(self, given: Input, lists: pa.ChunkedArray) -> Iterator[pa.Array]:
        operation = given.operation
        rows = [_stored_values(operation, inputs) for inputs in lists.to_pylist()]
        types = arrow_types(self.connection, given.column_types)
        for number, kind in enumerate(types):
            yield pa.array([None if row is None else row[number] for row in rows], kind)


def _stored_values(operation: Operation, inputs: list[dict[str, Any]]) -> tuple[Any, ...] | None:
    total = operation.fold(operation.lift(*one.values()) for one in inputs)
    return None if total is None else operation.store(total)


def arrow_types(connection: duckdb.DuckDBPyConnection, types: Sequence[str]) -> list[pa.DataType]:
    listed = ", ".join(f"NULL::{kind} AS c{number}" for number, kind in enumerate(types))
    return list(connection.sql(f"SELECT {listed}").to_arrow_table().schema.types)
