"""Answers folded from partials equal the oracle: every aggregate, roll-ups, signatures, windows, having and limit."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.standing.test_standing_partials import AXIS, COLUMNS, MINUTE_US, built, loaded, some_rows
from tests.support.models.asked_oracle import asked
from tidewheel.indexing.errors import InvalidInput
from tidewheel.local.answers.answer_store import Folded
from tidewheel.local.answers.by_kernels import KernelFolder
from tidewheel.local.answers.by_sql import Folder
from tidewheel.local.answers.by_technique import named_technique
from tidewheel.local.answers.ways import fold, way_of
from tidewheel.local.partials.fold import AT
from tidewheel.local.partials.memory import tree_grid
from tidewheel.local.partials.memory.file_rows import Piece
from tidewheel.local.partials.memory.tree_rows import TreeRows
from tidewheel.local.partials.stored_columns import answer_columns
from tidewheel.queries.choice import TECHNIQUES
from tidewheel.queries.operation import AlgebraClass
from tidewheel.queries.standing.answer_oracle import Asked, StreamRecord, answer
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.query_file import parse_query_file
from tidewheel.queries.standing.staleness import DueReport
from tidewheel.queries.standing.tree import Tree, assigned, window_of
from tidewheel.queries.technique import Technique
from tidewheel.sql.statements.select_parser import SelectParser
from tidewheel.sql.statements.selects import read_query

ALL_CALLS = """
count(*) as n, count(x) as cx, sum(x) as sx, min(x) as lox, max(x) as hix, stddev(x) as devx, first(x) as fx,
avg(x) as ax, sum(i) as si, gcd(i) as gi, bit_xor(i) as xi, product(i) as pi, variance(i) as vi, last(i) as li,
sum(d) as sd, avg(d) as ad, min(d) as lod, bool_and(b) as ab, bool_or(b) as ob, arg_max(k, x) as kx,
arg_min(k, i) as ki, count_distinct(k, 100) as dk, max(k) as hik, bit_or(i) as oi
""".replace("\n", " ")
SELECTS = [ALL_CALLS, "sum(i) as si, count(*) filter (where x > 1) as big", "avg(d) as ad, max(i) - min(i) as width"]
GROUPS = ['["k"]', "[]", '["k", "b"]', '["b"]']


def query_of(body: str) -> Query:
    (text,) = parse_query_file(f'[query]\nof = "m"\ntime = "t"\n{body}', "q.toml")
    query, faults = read_query(SelectParser(COLUMNS), text)
    assert query is not None, faults
    return query


def random_query(chance: random.Random, number: int) -> Query:
    window = chance.choice(['"150s"', '"60s"', '"90s"', '"200s"', '"live"'])
    counts = 'counts = "live"\n' if window == '"live"' or chance.random() < 0.3 else ""
    slide = chance.choice(['"60s"', '"120s"']) if counts else chance.choice(['"60s"', '"20s"', '"45s"'])
    where = chance.choice(["", 'where = "i > 2"\n', "where = \"k = 'a'\"\n"])
    return query_of(
        f'name = "q{number}"\nselect = "{chance.choice(SELECTS)}"\ngroup_by = {chance.choice(GROUPS)}\n'
        f'window = {window}\nslide = {slide}\nahead = "30s"\n{counts}{where}'
    )


def holds(query: Query, record: StreamRecord) -> bool:
    i, k = record.values["i"], record.values["k"]
    return {"": True, "i > 2": i is not None and i > 2, "k = 'a'": k == "a"}[query.where]


def value(record: StreamRecord, argument: str) -> Any:
    if argument == AT:
        return record.time_us
    if argument.startswith("CASE"):
        return 1 if record.values["x"] is not None and not record.values["x"] <= 1 else None
    return record.values[argument]


def asked_of(query: Query) -> Asked:
    return asked(query, lambda record: holds(query, record), value)


def folded(query: Query, tree: Tree, batches: dict[int, list[dict[str, Any]]], reports: list[int]) -> pa.Table:
    rows = built(tree, batches, 0)
    connection = loaded([])
    connection.register("partials", rows)
    return Folder(query, tree, AXIS, connection, "partials").fold([DueReport(at_us, 1.0) for at_us in reports])


def folded_by_kernels(
    queries: list[Query], tree: Tree, batches: dict[int, list[dict[str, Any]]], reports: dict[str, list[int]]
) -> dict[str, pa.Table]:
    rows = built(tree, batches, 0)
    due = {name: [DueReport(at_us, 1.0) for at_us in some] for name, some in reports.items()}
    found = KernelFolder(tree, AXIS, loaded([]), in_pieces(rows, batches)).fold(queries, due)
    return {query.name: table for query, table in tables_of(found)}


def tables_of(folded: Iterable[Folded]) -> Iterator[tuple[Query, pa.Table]]:
    """The answers of each query, under its own names."""
    for one in folded:
        for number, query in enumerate(one.queries):
            stored = {name: column for name, (column, _) in answer_columns(query).items()}
            names = ["window_start", "window_end", *stored, "rows", "complete"]
            mine = one.rows.filter(pa.array(one.of_query == number))
            yield query, mine.select([stored.get(name, name) for name in names]).rename_columns(names)


def in_pieces(rows: pa.Table, slots: Iterable[int]) -> TreeRows:
    """As if each slot had come with a commit of its own."""
    return TreeRows(rows.schema, [Piece.of(rows.filter(pc.field("ins_slot") == slot)) for slot in slots])


def without_grids(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if there were too many groups for any grid."""
    monkeypatch.setattr(tree_grid, "CELLS_MIN", -1)
    monkeypatch.setattr(tree_grid, "CELLS_PER_ROW_MAX", -1)


def same(found: Any, true: Any) -> bool:
    if isinstance(true, float) and isinstance(found, float):
        return found == true or (found != found and true != true) or abs(found - true) <= 1e-12 * abs(true)
    return bool(found == true)


def random_batches(chance: random.Random) -> dict[int, list[dict[str, Any]]]:
    """Rows of three slots whose floats the oracle can add up."""
    batches = {slot: some_rows(chance, slot, chance.choice([0, 3, 25])) for slot in (7, 8, 9)}
    for slot, rows in batches.items():
        batches[slot] = [row | {"x": None if row["x"] in (float("inf"), float("-inf")) else row["x"]} for row in rows]
    return batches


def reports_of(query: Query) -> list[int]:
    return list(window_of(query).reports_between(AXIS.start_us(6), AXIS.end_us(9)))


def check_with_oracle(query: Query, table: pa.Table, batches: dict[int, list[dict[str, Any]]], note: str) -> None:
    records = [StreamRecord(slot, row["t"], row["exp_slot"], row) for slot, rows in batches.items() for row in rows]
    for at_us in reports_of(query):
        truth = answer(asked_of(query), records, AXIS, at_us)
        rows = [row for row in table.to_pylist() if row["window_end"] == at_us]
        found = {tuple(row[one.name] for one in query.groups): row for row in rows}
        assert found.keys() == truth.keys(), f"{note}, {query}, {at_us}"
        for key, values in truth.items():
            outputs = {one.sql.strip('"'): found[key][one.name] for one in query.outputs}
            for number, true in enumerate(values):
                if f"call {number}" in outputs:
                    assert same(outputs[f"call {number}"], true), f"{note}, {query.calls[number]}, {key}"


@pytest.mark.parametrize("seed", range(8))
def test_answers_equal_the_oracle(seed: int) -> None:
    chance = random.Random(seed)
    queries = [random_query(chance, number) for number in range(4)]
    batches = random_batches(chance)
    assignment = assigned(queries, 3 * MINUTE_US)
    for query in queries:
        table = folded(query, assignment.tree(query.name), batches, reports_of(query))
        check_with_oracle(query, table, batches, f"seed {seed}")


@pytest.mark.parametrize("seed", range(8, 20))
def test_kernels_and_sql_agree(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 2:
        without_grids(monkeypatch)
    chance = random.Random(seed)
    queries = [random_query(chance, number) for number in range(5)]
    batches = {slot: some_rows(chance, slot, chance.choice([0, 3, 25])) for slot in (7, 8, 9)}
    assignment = assigned(queries, 3 * MINUTE_US)
    reports = {
        query.name: list(window_of(query).reports_between(AXIS.start_us(6), AXIS.end_us(9)))[:: chance.choice([1, 3])]
        for query in queries
    }
    for tree in assignment.trees:
        mine = [query for query in queries if assignment.tree_of[query.name] == tree.name]
        tables = folded_by_kernels(mine, tree, batches, reports)
        for query in mine:
            true = folded(query, tree, batches, reports[query.name])
            found = tables[query.name]
            assert found.schema.names == true.schema.names
            keys = ["window_end", *(one.name for one in query.groups)]
            left, right = (
                {tuple(row[key] for key in keys): row for row in table.to_pylist()} for table in (found, true)
            )
            assert left.keys() == right.keys(), f"seed {seed}, {query}"
            for key, row in right.items():
                for name, value_ in row.items():
                    assert same(left[key][name], value_), f"seed {seed}, {query.name} {key} {name}"
            assert found.num_rows == true.num_rows


@pytest.mark.parametrize("value", [10**6, 2**62, 10**18])
def test_rows_are_joined_as_long_as_nothing_is_lost(value: int) -> None:
    query = query_of(f'{SLID}select = "sum(i::HUGEINT) as total, count(*) as n, max(i) as most, avg(x) as mean"\n')
    chance = random.Random(value)
    batches = {slot: [row | {"i": chance.choice([value, -value, None])} for row in some_rows(chance, slot, 60)]
               for slot in (6, 7, 8)}  # fmt: skip
    tree = assigned([query], 3 * MINUTE_US).tree("q")
    rows = built(tree, batches, 0)
    folder = KernelFolder(tree, AXIS, loaded([]), in_pieces(rows, batches))
    ways = folder.ways([query])
    assert ways is not None
    edges = np.array([0, tree.slices.number_of(AXIS.end_us(7)), 1 << 60])
    joined = folder.rows.joined(["g0"], ways, edges, None, None)
    assert (joined is None) == (value > 10**6)
    assert joined is None or joined.num_rows <= 2 * 4
    at_us = AXIS.end_us(8)
    true, found = folded(query, tree, batches, [at_us]), folded_by_kernels([query], tree, batches, {"q": [at_us]})
    left, right = ({row["k"]: row for row in table.to_pylist()} for table in (found["q"], true))
    assert left.keys() == right.keys()
    assert all(same(left[key][name], value_) for key, row in right.items() for name, value_ in row.items())


SLID = """
name = "q"
window = "150s"
slide = "60s"
ahead = "30s"
group_by = ["k"]
"""


@pytest.mark.parametrize("technique", TECHNIQUES, ids=lambda one: one.name)
def test_every_technique_gives_the_same_answers(technique: type[Technique]) -> None:
    select = "max(i) as m, first(x) as f" if technique.classes == {AlgebraClass.SEL} else "sum(i) as m, avg(x) as f"
    chance = random.Random(technique.name)
    batches = {slot: some_rows(chance, slot, 25) for slot in (6, 7, 8, 9)}
    query = query_of(f'{SLID}select = "{select}"\ntechnique = "{technique.name}"\n')
    other = query_of(f'{SLID.replace("150s", "90s")}select = "{select}"\n'.replace('"q"', '"r"'))
    tree = assigned([query, other], 3 * MINUTE_US).tree("q")
    reports = list(window_of(query).reports_between(AXIS.start_us(6), AXIS.end_us(9)))
    rows = built(tree, batches, 0)
    due = {"q": [DueReport(at_us, 1.0) for at_us in reports]}
    ((_, table),) = tables_of(fold(tree, AXIS, loaded([]), TreeRows.of(rows), [query], due))
    true = folded(query, tree, batches, reports).to_pylist()
    assert way_of(query) == technique.name
    assert len(true) > 6
    for row, wanted in zip(table.to_pylist(), true, strict=True):
        assert row.keys() == wanted.keys()
        assert all(same(row[name], wanted[name]) for name in row), (row, wanted)


@pytest.mark.parametrize("group", ["x", "d", "[k, 'z'] as pair", "{'k': k, 'x': x} as both"])
def test_groups_that_are_no_plain_keys_are_streams_too(group: str) -> None:
    """NaN is one group, and so are equal lists and structures."""
    chance = random.Random(group)
    body = SLID.replace('["k"]', f'["{group}"]') + 'select = "sum(i) as m, max(i) as n"\n'
    query = query_of(f'{body}technique = "FlatFIT"\n')
    tree = assigned([query], 3 * MINUTE_US).tree("q")
    batches = {slot: [row | {"x": chance.choice([float("nan"), 0.0, -0.0, 2.5])} for row in some_rows(chance, slot, 25)]
               for slot in (7, 8, 9)}  # fmt: skip
    reports = list(window_of(query).reports_between(AXIS.start_us(6), AXIS.end_us(9)))
    true = folded(query, tree, batches, reports)
    due = {"q": [DueReport(at_us, 1.0) for at_us in reports]}
    ((_, table),) = tables_of(fold(tree, AXIS, loaded([]), TreeRows.of(built(tree, batches, 0)), [query], due))
    found, wanted = (sorted(repr(row).replace("-0.0", "0.0") for row in one.to_pylist()) for one in (table, true))
    assert found == wanted
    assert len(found) > 6


def test_a_technique_that_does_not_fit_says_which_does() -> None:
    with pytest.raises(InvalidInput, match=r"SlickDeque \(Inv\) needs an operation with an inverse; 'max' has none"):
        named_technique(query_of(f'{SLID}select = "max(i) as m"\ntechnique = "SlickDeque (Inv)"'))
    with pytest.raises(InvalidInput, match="individual lifetimes are not first-in first-out"):
        named_technique(query_of(f'{SLID}counts = "live"\nselect = "sum(i) as m"\ntechnique = "FlatFAT"'))
    with pytest.raises(InvalidInput, match="unknown technique 'slick'"):
        named_technique(query_of(f'{SLID}select = "sum(i) as m"\ntechnique = "slick"'))
    assert way_of(query_of(f'{SLID}select = "sum(i) as m"')) == "kernels"
    assert way_of(query_of(f'{SLID}select = "sum(i) as m"\ntechnique = "sql"')) == "sql"


BATCHES = {
    7: [{"k": k, "t": AXIS.start_us(7) + 1, "i": i, "d": None, "x": 1.5, "b": True, "exp_slot": 9}
        for k, i in (("a", 1), ("a", 2), ("b", 9), ("c", 4), ("d", 4))],
}  # fmt: skip


def answers_of(body: str) -> list[dict[str, Any]]:
    query = query_of(f'window = "60s"\nslide = "60s"\n{body}')
    tree = assigned([query], MINUTE_US).tree(query.name)
    return list(folded(query, tree, BATCHES, [AXIS.end_us(7), AXIS.end_us(8)]).to_pylist())


def test_having_order_and_limit_apply_to_each_report() -> None:
    body = 'group_by = ["k"]\nselect = "sum(i) as total"\nhaving = "total > 2"\norder_by = "total desc"\nlimit = 2'
    assert [(row["k"], row["total"], row["rows"]) for row in answers_of(body)] == [("b", 9, 1), ("c", 4, 1)]


def test_an_empty_window_has_an_answer_without_groups() -> None:
    first, second = answers_of('select = "count(*) as n, sum(i) as total, max(i) as most"')
    assert (first["n"], first["total"], first["most"], first["rows"]) == (5, 20, 9, 5)
    assert (second["n"], second["total"], second["most"], second["rows"]) == (0, None, None, 0)


def test_what_cannot_be_computed_names_the_query() -> None:
    with pytest.raises(InvalidInput, match="query q cannot be answered"):
        answers_of('select = "cast(max(k) as integer) as n"')
    assert answers_of('select = "1 / (count(*) - count(*)) as n"')[0]["n"] == float("inf"), "as DuckDB has it"
