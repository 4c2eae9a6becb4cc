"""Partials by DuckDB equal those by the operations themselves, over nasty values; lists of floats are exact."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.errors import InvalidInput
from tidewheel.local.partials.accumulator_sql import Input
from tidewheel.local.partials.fold import AT, PartialBuilder, inputs_of
from tidewheel.local.partials.partial_store import digests
from tidewheel.queries.standing.query import Call, Counts, Named
from tidewheel.queries.standing.tree import Tree
from tidewheel.queries.windows import Window

MINUTE_US = 60_000_000
AXIS = TimeAxis(MINUTE_US, 0)
COLUMNS = {
    "k": "VARCHAR",
    "t": "TIMESTAMPTZ",
    "i": "BIGINT",
    "d": "DECIMAL(12,3)",
    "x": "DOUBLE",
    "b": "BOOLEAN",
    "exp_slot": "BIGINT",
}
CALLS = (
    Call("count_rows"),
    *(Call(name, ("x",), ("DOUBLE",)) for name in ("count", "sum", "min", "max", "stddev", "first", "avg")),
    *(Call(name, ("i",), ("BIGINT",)) for name in ("sum", "gcd", "bit_xor", "product", "variance", "last")),
    *(Call(name, ("d",), ("DECIMAL(12,3)",)) for name in ("sum", "avg", "min")),
    *(Call(name, ("b",), ("BOOLEAN",)) for name in ("bool_and", "bool_or")),
    Call("arg_max", ("k", "x"), ("VARCHAR", "DOUBLE")),
    Call("arg_min", ("k", "i"), ("VARCHAR", "BIGINT")),
    Call("count_distinct", ("k",), ("VARCHAR",), 100),
    Call("max", ("k",), ("VARCHAR",)),
)
NASTY = [
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    1e308,
    -1e308,
    1e16,
    1.0,
    -1e16,
    0.1,
    math.nan,
    math.inf,
    -math.inf,
    2.0**-1000,
    3.5,
]


def tree_of(**changes: Any) -> Tree:
    values: dict[str, Any] = {
        "groups": (Named("k", "k", "VARCHAR"),),
        "time": "t",
        "counts": Counts.ARRIVED,
        "windows": (Window(150_000_000, 60_000_000), Window(40_000_000, 20_000_000)),
        "predicates": ("", "i > 2"),
        "calls": CALLS,
        "ahead_us": 30_000_000,
        "horizon_us": 10 * MINUTE_US,
    }
    return Tree(**(values | changes))


def some_rows(chance: random.Random, slot: int, count: int) -> list[dict[str, Any]]:
    def maybe(value: Any) -> Any:
        return None if chance.random() < 0.1 else value

    return [
        {
            "k": maybe(chance.choice("abc")),
            "t": maybe(AXIS.start_us(slot) + chance.randrange(-200_000_000, 120_000_000)),
            "i": maybe(chance.randrange(-5, 20)),
            "d": maybe(Decimal(chance.randrange(-(10**6), 10**6)).scaleb(-3)),
            "x": maybe(chance.choice([*NASTY, chance.gauss(0, 10.0 ** chance.randrange(-20, 20))])),
            "b": maybe(chance.random() < 0.5),
            "exp_slot": slot + chance.randrange(0, 3),
        }
        for _ in range(count)
    ]


def loaded(rows: list[dict[str, Any]]) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET timezone = 'UTC'")
    connection.register("rows", table_of(rows))
    return connection


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    types = [
        pa.string(),
        pa.timestamp("us", "UTC"),
        pa.int64(),
        pa.decimal128(12, 3),
        pa.float64(),
        pa.bool_(),
        pa.int64(),
    ]
    columns = {name: pa.array([row[name] for row in rows], kind) for name, kind in zip(COLUMNS, types, strict=True)}
    return pa.table(columns)


def built(tree: Tree, batches: dict[int, list[dict[str, Any]]], oldest_us: int) -> pa.Table:
    """The partials of some slots, folded together."""
    slots = [slot for slot, rows in batches.items() for _ in rows]
    table = table_of([row for rows in batches.values() for row in rows])
    table = table.append_column("ins_slot", pa.array(slots, pa.int64()))
    return PartialBuilder(tree, AXIS, loaded([])).build(table, oldest_us)


def argument_values(given: Input, row: dict[str, Any]) -> list[Any]:
    return [row["t"] if one == AT else row[one] for one in given.arguments]


def expected(tree: Tree, rows: list[dict[str, Any]], slot: int, oldest_us: int) -> dict[tuple[Any, ...], list[Any]]:
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        time_us = row["t"]
        if time_us is None or not oldest_us <= time_us < AXIS.end_us(slot) + tree.ahead_us:
            continue
        signature = 1 + (2 if row["i"] is not None and row["i"] > 2 else 0)
        expiration = (row["exp_slot"],) if tree.counts is Counts.LIVE else ()
        groups[(tree.slices.number_of(time_us), signature, *expiration, row["k"])].append(row)
    return {
        key: [
            one.operation.fold(one.operation.lift(*argument_values(one, row)) for row in some)
            for one in inputs_of(tree)
        ]
        for key, some in groups.items()
    }


def found(tree: Tree, table: pa.Table) -> dict[tuple[Any, ...], list[Any]]:
    inputs, answers = inputs_of(tree), {}
    keys = [name for name in table.column_names if name[0] != "a" and name != "ins_slot"]
    for row in table.to_pylist():
        at, values = 0, []
        for one in inputs:
            columns = [row[f"a{at + number}"] for number in range(len(one.operation.columns))]
            at += len(columns)
            stored = [[tuple(entry.values()) for entry in value] if isinstance(value, list) and value and
                      isinstance(value[0], dict) else value for value in columns]  # fmt: skip
            values.append(None if stored[0] is None else one.operation.load(stored))
        answers[tuple(row[name] for name in keys)] = values
    return answers


@pytest.mark.parametrize("counts", list(Counts))
@pytest.mark.parametrize("seed", range(12))
def test_partials_equal_the_operations(seed: int, counts: Counts) -> None:
    chance = random.Random(seed)
    rows, tree = some_rows(chance, 7, chance.choice([0, 1, 60])), tree_of(counts=counts)
    oldest_us = AXIS.start_us(5)
    table = built(tree, {7: rows}, oldest_us)
    assert found(tree, table) == expected(tree, rows, 7, oldest_us), f"seed {seed}"


@pytest.mark.parametrize("counts", list(Counts))
def test_slots_that_are_folded_together_have_the_partials_of_each(counts: Counts) -> None:
    chance, tree = random.Random(5), tree_of(counts=counts)
    batches = {slot: some_rows(chance, slot, 40) for slot in (6, 7, 9)}
    table = built(tree, batches, 0)
    told = digests(table)
    for slot, rows in batches.items():
        assert found(tree, table.filter(pc.field("ins_slot") == slot)) == expected(tree, rows, slot, 0)
        assert digests(built(tree, {slot: rows}, 0)) == {slot: told[slot]}


def test_float_sums_lose_nothing() -> None:
    rows = some_rows(random.Random(3), 7, 400)
    rows = [
        row | {"k": "a", "t": AXIS.start_us(7), "i": 1} for row in rows if row["x"] is None or math.isfinite(row["x"])
    ]
    tree = tree_of(calls=(Call("sum", ("x",), ("DOUBLE",)),))
    (values,) = found(tree, built(tree, {7: rows}, 0)).values()
    total = sum((Fraction(row["x"]) for row in rows if row["x"] is not None), Fraction(0))
    sums = [value for one, value in zip(inputs_of(tree), values, strict=True) if one.operation.name == "sum"]
    assert Fraction(sums[0][0], 1 << 2176) == total


def test_records_older_than_anybody_asks_for_are_one_fragment_of_an_endless_window() -> None:
    rows = [row | {"t": time_us, "k": "a", "i": 0} for row, time_us in
            zip(some_rows(random.Random(1), 7, 3), (0, 100_000_000, AXIS.start_us(7)), strict=True)]  # fmt: skip
    tree = tree_of(calls=CALLS[:1], endless=True, windows=(Window(MINUTE_US, MINUTE_US),))
    answers = found(tree, built(tree, {7: rows}, AXIS.start_us(6)))
    assert {key[0]: values for key, values in answers.items()} == {
        tree.slices.number_of(AXIS.start_us(6)): [2],
        tree.slices.number_of(AXIS.start_us(7)): [1],
    }


def test_a_sum_that_leaves_38_digits_is_an_error() -> None:
    rows = [row | {"k": "a", "t": AXIS.start_us(7), "i": 2**62} for row in some_rows(random.Random(1), 7, 3)]
    tree = tree_of(calls=(Call("sum", ("i::HUGEINT * 10000000000000000000",), ("HUGEINT",)),))
    with pytest.raises((duckdb.Error, InvalidInput)):
        built(tree, {7: rows}, 0)
