"""A grid that follows its rows answers like one made of the rows there are: as they come, go, expire and are joined."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.standing.test_standing_folds import query_of, same, tables_of
from tests.standing.test_standing_partials import AXIS, MINUTE_US, built, loaded, some_rows
from tidewheel.local.answers.by_kernels import KernelFolder
from tidewheel.local.partials.memory import tree_grid
from tidewheel.local.partials.memory.file_rows import EXPIRES, Groups, Piece
from tidewheel.local.partials.memory.tree_grid import TreeGrid
from tidewheel.local.partials.memory.tree_rows import TreeRows
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.staleness import DueReport
from tidewheel.queries.standing.tree import Tree, assigned

SELECT = "count(*) as n, sum(i) as si, max(i) as hi, min(x) as lo, avg(x) as mean, max(k) as hik"
QUERIES = [
    query_of(
        f'name = "q{number}"\nselect = "{select}"\ngroup_by = {groups}\nwindow = "{window}"\nslide = "60s"\n{where}'
    )
    for number, (select, groups, window, where) in enumerate(
        (
            (SELECT.removesuffix(", max(k) as hik"), '["k"]', "240s", ""),
            ("sum(i) as si, max(x) as hi", "[]", "60s", 'where = "i > 2"\n'),
            ("count(x) as n, min(i) as lo", '["b"]', "120s", ""),
            ("max(k) as hik, count(*) as n", '["b"]', "180s", 'where = "i > 2"\n'),
        )
    )
]
LIFE = 6  # slots


def piece_of(chance: random.Random, tree: Tree, slots: range) -> Piece:
    batches = {slot: [row | {"x": row["x"] if row["x"] is None or abs(row["x"]) < 1e9 else 1.5}
                      for row in some_rows(chance, slot, chance.choice([0, 2, 25]))] for slot in slots}  # fmt: skip
    rows = built(tree, batches, 0)
    return Piece.of(rows.append_column(EXPIRES, pa.array(rows.column("ins_slot").to_numpy() + LIFE)))


def answers(tree: Tree, rows: TreeRows, mine: list[Query], slot: int) -> list[tuple[str, list[dict[str, Any]]]]:
    due = {query.name: [DueReport(AXIS.end_us(slot - back), 1.0) for back in (0, 1, 3)] for query in mine}
    folder = KernelFolder(tree, AXIS, loaded([]), rows)
    return [(query.name, rows_of(query, table)) for query, table in tables_of(folder.fold(mine, due))]


def rows_of(query: Query, table: pa.Table) -> list[dict[str, Any]]:
    keys = ["window_end", *(one.name for one in query.groups)]
    return sorted(table.to_pylist(), key=lambda row: [(row[name] is not None, row[name]) for name in keys])


def check(found: Any, true: Any, note: str) -> None:
    assert [name for name, _ in found] == [name for name, _ in true], note
    for (name, mine), (_, theirs) in zip(found, true, strict=True):
        assert len(mine) == len(theirs), f"{note}, {name}"
        for left, right in zip(mine, theirs, strict=True):
            assert left.keys() == right.keys()
            assert all(same(left[key], right[key]) for key in left), f"{note}, {name}: {left} {right}"


@pytest.mark.parametrize("seed", range(12))
def test_a_grid_follows_its_rows(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    trees = assigned(QUERIES, 8 * MINUTE_US)
    tree = max(trees.trees, key=lambda one: sum(trees.tree_of[query.name] == one.name for query in QUERIES))
    mine = [query for query in QUERIES if trees.tree_of[query.name] == tree.name]
    pieces, groups, grid, made = [piece_of(chance, tree, range(20, 24))], dict[Any, Any](), TreeGrid(), set[int]()
    for slot in range(24, 60):
        pieces.append(piece_of(chance, tree, range(slot, slot + 1)))
        if chance.random() < 0.2:
            pieces.append(piece_of(chance, tree, range(slot - 3, slot - 2)))  # late
        if chance.random() < 0.1:
            pieces.pop(chance.randrange(len(pieces)))
        if chance.random() < 0.2 and pieces:  # a slot that comes again
            pieces[-1] = piece_of(chance, tree, range(slot, slot + 1))
        if chance.random() < 0.1:  # files that are joined
            both = [pieces.pop(chance.randrange(len(pieces))) for _ in range(min(2, len(pieces)))]
            pieces.append(Piece.of(pa.concat_tables(one.rows for one in both)))
        watermark = slot - chance.choice([1, 2, 2, 3]) if slot > 30 else None
        if watermark is not None:  # a file goes when all of its rows have expired
            pieces = [piece for piece in pieces if (piece.expires > watermark).any()]
        schema = pieces[0].rows.schema if pieces else tree_schema(tree)
        found = answers(tree, TreeRows(schema, pieces, watermark, groups, grid), mine, slot)
        made.add(id(grid.grid))
        with monkeypatch.context() as patched:
            patched.setattr(tree_grid, "CELLS_MIN", -1)
            patched.setattr(tree_grid, "CELLS_PER_ROW_MAX", -1)
            true = answers(tree, TreeRows(schema, pieces, watermark), mine, slot)
        check(found, true, f"seed {seed}, slot {slot}")
    assert len(made) < 30, "it was made anew nearly every time"


def test_a_slot_that_comes_again_is_filled_again_alone() -> None:
    chance, grid, groups = random.Random(5), TreeGrid(), dict[Any, Any]()
    trees = assigned(QUERIES, 8 * MINUTE_US)
    tree = next(one for one in trees.trees if trees.tree_of[QUERIES[0].name] == one.name)
    mine = [query for query in QUERIES if trees.tree_of[query.name] == tree.name]
    pieces = [piece_of(chance, tree, range(slot, slot + 1)) for slot in range(20, 40)]
    schema = pieces[0].rows.schema
    answers(tree, TreeRows(schema, pieces, 25, groups, grid), mine, 39)
    made = grid.grid
    for slot in (38, 30, 39):
        pieces[slot - 20] = piece_of(chance, tree, range(slot, slot + 1))
        found = answers(tree, TreeRows(schema, pieces, 25, groups, grid), mine, 39)
        check(found, answers(tree, TreeRows(schema, pieces, 25), mine, 39), f"slot {slot}")
    assert made is not None
    assert grid.grid is made


def test_what_had_expired_comes_back_with_an_undo() -> None:
    chance, grid, groups = random.Random(1), TreeGrid(), dict[Any, Any]()
    tree = assigned(QUERIES[:1], 8 * MINUTE_US).trees[0]
    pieces = [piece_of(chance, tree, range(slot, slot + 5)) for slot in range(20, 40, 5)]
    schema = pieces[0].rows.schema
    for watermark in (33, 31, None, 32):
        found = answers(tree, TreeRows(schema, pieces, watermark, groups, grid), QUERIES[:1], 29)
        check(found, answers(tree, TreeRows(schema, pieces, watermark), QUERIES[:1], 29), f"watermark {watermark}")


def test_where_there_is_no_grid_rows_are_numbered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else every refresh would go through all of them for nothing, the longer the longer its windows are."""
    monkeypatch.setattr(tree_grid, "CELLS_MIN", -1)
    monkeypatch.setattr(tree_grid, "CELLS_PER_ROW_MAX", -1)
    numbered: list[int] = []
    numbers_of = Groups.numbers_of

    def counted(groups: Groups, columns: dict[str, Any], rows: int) -> Any:
        numbered.append(rows)
        return numbers_of(groups, columns, rows)

    monkeypatch.setattr(Groups, "numbers_of", counted)
    chance, grid = random.Random(1), TreeGrid()
    tree = assigned(QUERIES, 8 * MINUTE_US).trees[0]
    pieces = [piece_of(chance, tree, range(slot, slot + 1)) for slot in range(40)]
    for last in range(20, 40):
        assert grid.follow(pieces[:last], None, ["g0"], {}) is None
    assert len(numbered) < 3 * 40


def tree_schema(tree: Tree) -> pa.Schema:
    return built(tree, {}, 0).append_column(EXPIRES, pa.array(np.zeros(0, np.int64))).schema
