"""Partial aggregates of batches: rows of slots in, one row for each slot, fragment, signature and group out.

1. Each record gets its time, and with it a fragment; its signature, by the predicates of the tree; its group.
2. DuckDB folds each group, by the SQL of `partial_sql`; operations that SQL has no exact way for fold lists.

What a slot's rows are does not depend on which other slots are folded with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.errors import InvalidInput
from tidewheel.local.partials.accumulator_sql import Input, buckets_query, collected, lifted
from tidewheel.local.partials.arrow_types import arrow_types_of
from tidewheel.local.partials.distinct_sketches import installed
from tidewheel.queries.aggregates import aggregate
from tidewheel.queries.kernels.arrays import Whole, int64s
from tidewheel.queries.operation import Aggregate, Operation
from tidewheel.queries.shared_plan import SharedPlan
from tidewheel.queries.signatures import EVERY_ROW
from tidewheel.queries.standing.query import Call, Counts
from tidewheel.queries.standing.tree import Tree
from tidewheel.sql.statements.select_types import argument_of

AT = '"tw at"'
FRAGMENT = '"tw fragment"'
SIGNATURE = '"tw signature"'
ROWS = "tw_rows"


def aggregate_of(call: Call) -> Aggregate:
    """The catalogue's aggregate for a call."""
    argument = argument_of(call.types[0] if call.types else "")
    return aggregate(call.aggregate, argument, call.limit, call.fraction, installed())


def call_inputs(call: Call) -> tuple[Input, ...]:
    """The accumulators a call needs: one for each operation of its aggregate."""
    known = aggregate_of(call)
    arguments, types = call.arguments, call.types
    if "at" in known.inputs:
        arguments, types = (*arguments, AT), (*types, "BIGINT")
    return tuple(
        Input(operation, *((), ()) if operation.name == "count_rows" else (arguments, types), call.limit)
        for operation in known.operations
    )


def inputs_of(tree: Tree) -> tuple[Input, ...]:
    """The accumulators in a tree's partial rows: each once, in a fixed order."""
    return tuple({given.key: given for call in tree.calls for given in call_inputs(call)}.values())


def numbers_of(slices: SharedPlan, moments: Whole) -> Whole:
    """The fragment that holds each moment: `SharedPlan.number_of` of many."""
    length = slices.edges[0]
    if slices.edges == tuple(range(length, slices.period + 1, length)):  # one division, no search
        even: Whole = moments // length
        return even
    periods, rest = np.divmod(moments, slices.period)
    return periods * len(slices.edges) + np.searchsorted(np.array(slices.edges), rest, side="right")


def ends_of(slices: SharedPlan, numbers: Whole) -> Whole:
    """The end of each fragment: `SharedPlan.end_of` of many."""
    periods, positions = np.divmod(numbers, len(slices.edges))
    ends: Whole = periods * slices.period + np.array(slices.edges)[positions]
    return ends


@dataclass(frozen=True)
class PartialBuilder:
    """Builds the partials of one tree from the rows of slots, of as many in one go as its caller has in memory."""

    tree: Tree
    axis: TimeAxis
    connection: duckdb.DuckDBPyConnection

    def build(self, rows: pa.Table, oldest_us: int) -> pa.Table:
        """The partial rows: ins_slot, fragment, signature, expiration (of the living), groups g0…, accumulators a0….

        Records whose time is before `oldest_us` matter to nobody any more, but where windows have no beginning.
        """
        self.connection.register(ROWS, self._placed(rows, oldest_us))
        inputs = inputs_of(self.tree)
        columns = [column for given in inputs for column in self._columns(given)]
        keys = ["ins_slot", f"{FRAGMENT} AS fragment", f"{SIGNATURE} AS signature", *self._expiration()]
        keys += [f"{one.sql} AS g{number}" for number, one in enumerate(self.tree.groups)]
        named = [f"{sql} AS a{number}" for number, sql in enumerate(columns)]
        query = f"SELECT {', '.join([*keys, *named])} FROM {self._signed} GROUP BY ALL"
        found = self.connection.sql(query).to_arrow_table()
        self.connection.unregister(ROWS)
        return self._folded(found, inputs)

    def _placed(self, rows: pa.Table, oldest_us: int) -> pa.Table:
        """The rows that count, with their time and fragment."""
        tree, axis = self.tree, self.axis
        if tree.time and tree.time not in rows.column_names:
            raise InvalidInput(f"there is no column {tree.time}", "name another column as time, or bring it again")
        ends = pc.add(pc.multiply(rows.column("ins_slot"), axis.interval_us), axis.epoch_us + axis.interval_us)
        at = rows.column(tree.time).cast(pa.int64()) if tree.time else pc.subtract(ends, axis.interval_us)
        if tree.endless:
            at = pc.if_else(pc.less(at, oldest_us), oldest_us, at)
        counts = pc.and_(pc.greater_equal(at, oldest_us), pc.less(at, pc.add(ends, tree.ahead_us)))
        rows = rows.append_column(AT.strip('"'), at)
        if not pc.all(counts, skip_nulls=False, min_count=0).as_py():
            rows = rows.filter(counts)
        numbers = numbers_of(tree.slices, int64s(rows.column(AT.strip('"'))))
        return rows.append_column(FRAGMENT.strip('"'), pa.array(numbers))

    @property
    def _signed(self) -> str:
        """The rows that any predicate holds for, with their signature."""
        bits = [
            str(1 << bit) if text == EVERY_ROW else f"if(coalesce(({text}), false), {1 << bit}, 0)"
            for bit, text in enumerate(self.tree.predicates)
        ]
        signed = f"SELECT *, ({' + '.join(bits)})::INTEGER AS {SIGNATURE} FROM {ROWS}"
        return f"(SELECT * FROM ({signed}) WHERE {SIGNATURE} > 0)"

    def _expiration(self) -> list[str]:
        return ["exp_slot AS expiration"] if self.tree.counts is Counts.LIVE else []

    def _columns(self, given: Input) -> Sequence[str]:
        buckets: list[int] = []
        if given.needs_buckets:
            buckets = [row[0] for row in self.connection.execute(buckets_query(given, self._signed)).fetchall()]
        columns = lifted(given, buckets)
        if columns is None:
            return (collected(given, AT),)
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
        types = arrow_types_of(given.column_types)
        for number, kind in enumerate(types):
            yield pa.array([None if row is None else row[number] for row in rows], kind)


def _stored_values(operation: Operation, inputs: list[dict[str, Any]]) -> tuple[Any, ...] | None:
    total = operation.fold(operation.lift(*one.values()) for one in inputs)
    return None if total is None else operation.store(total)
