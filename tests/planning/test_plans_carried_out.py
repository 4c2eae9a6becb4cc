"""Plans decide the trees of a refresh: whatever the planner, answers are the oracle's, and trees that serve stay."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import tidewheel.archive
from tests.standing.test_standing_folds import (
    check_with_oracle,
    folded,
    folded_by_kernels,
    query_of,
    random_batches,
    random_query,
    reports_of,
)
from tests.standing.test_standing_partials import MINUTE_US
from tests.support.archives.asked_archive import answers, asked_archive, copied_archive
from tests.support.models.planning import chance as chance_of
from tidewheel.cli import main
from tidewheel.indexing.errors import InvalidInput
from tidewheel.local.answers.ways import way_of
from tidewheel.local.derived.neighbours import derived_job
from tidewheel.local.partials.stored_trees import kept_trees
from tidewheel.queries.planning.catalogue import PLANNERS
from tidewheel.queries.planning.known import Known
from tidewheel.queries.planning.population import Estimate
from tidewheel.queries.planning.standing_requests import pools
from tidewheel.queries.planning.standing_trees import planned_by
from tidewheel.queries.standing.query import Call, Query
from tidewheel.queries.standing.tree import StoredTrees, Tree, assigned, by_group_by, kind_of

KNOWN = Known(Fraction(20, MINUTE_US), Estimate({"i > 2": 0.5, "k = 'a'": 0.3}, {"k": 3, "b": 2}), MINUTE_US)


def carried_out(planners: list[str], seed: int, count: int) -> set[int]:
    """In how many trees the planners put random queries; each tree that any of them has answers as the oracle does."""
    chance = random.Random(seed)
    queries = [random_query(chance, number) for number in range(count)]
    batches, checked, sizes = random_batches(chance), set(), set()
    for planner in planners:
        assignment = assigned(queries, 3 * MINUTE_US, plan=planned_by(planner, lambda _: KNOWN, chance_of(1)))
        assert assignment.tree_of.keys() == {query.name for query in queries}
        sizes.add(len(assignment.trees))
        for tree in assignment.trees:
            mine = [query for query in queries if assignment.tree_of[query.name] == tree.name]
            if tree.name not in checked:
                check_tree(tree, mine, batches, f"{planner}, seed {seed}")
            checked.add(tree.name)
    return sizes


def check_tree(tree: Tree, queries: list[Query], batches: dict[int, list[dict[str, Any]]], note: str) -> None:
    by_kernels = [query for query in queries if way_of(query) == "kernels"]
    tables = folded_by_kernels(by_kernels, tree, batches, {query.name: reports_of(query) for query in by_kernels})
    for query in queries:
        table = tables.get(query.name) or folded(query, tree, batches, reports_of(query))
        check_with_oracle(query, table, batches, note)


def test_every_planners_plan_gives_the_oracles_answers() -> None:
    assert len(carried_out([one.name for one in PLANNERS], 1, 4)) > 1


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100, 130))
def test_every_planners_plan_gives_the_oracles_answers_at_length(seed: int) -> None:
    carried_out([one.name for one in PLANNERS], seed, 9)


def test_only_what_can_share_is_pooled() -> None:
    body = 'name = "{}"\nselect = "{}"\ngroup_by = {}\nwindow = "60s"\nslide = "60s"\n'
    sums = [query_of(body.format("a", "sum(i) as s", '["k"]')), query_of(body.format("b", "sum(i) as s", "[]"))]
    lists = query_of(body.format("c", "concatenate(i, 10) as s", "[]"))
    alive = query_of(body.format("d", "sum(i) as s", "[]") + 'counts = "live"\n')
    assert len({kind_of(query) for query in (*sums, lists, alive)}) == 2
    found = pools([*sums, lists, alive])
    assert [[one.name for one in pool.requests] for pool in found] == [["a", "b", "c"], ["d"]]
    assert found[1].about.startswith("counts live")
    assert by_group_by(sums) == [[sums[0]], [sums[1]]]


def many(count: int, changed: int | None = None) -> list[Query]:
    """Queries of four group-bys; one of them may ask for something else."""
    chance = random.Random(5)
    body = 'name = "q"\nselect = "sum(i) as s"\ngroup_by = {}\nwindow = "60s"\nslide = "60s"\n'
    kinds = [query_of(body.format(group)) for group in ('["k"]', "[]", '["k", "b"]', '["b"]')]
    found = []
    for number in range(count):
        slide = chance.choice([60, 120, 300])
        terms = replace(kinds[0].terms, slide_us=slide * 1_000_000, window_us=slide * chance.randint(1, 10) * 1_000_000)
        calls = (Call("max", ("d",), ("DOUBLE",)),) if number == changed else kinds[0].calls
        found.append(replace(chance.choice(kinds), name=f"q{number}", terms=terms, calls=calls))
    return found


def test_one_query_of_many_changes_and_no_other_tree_does() -> None:
    plan = planned_by("", lambda _: KNOWN, chance_of(1))
    before = assigned(many(200), 3 * MINUTE_US, plan=plan)
    homes = {query.part: before.tree_of[query.name] for query in many(200)}
    after = assigned(many(200, changed=7), 3 * MINUTE_US, StoredTrees(before.trees, homes), plan)
    moved = [name for name, tree in after.tree_of.items() if before.tree_of[name] != tree]
    assert moved == ["q7"]
    assert {tree.name for tree in before.trees} < {tree.name for tree in after.trees}
    again = assigned(
        many(200), 3 * MINUTE_US, StoredTrees(before.trees, homes), lambda queries: pytest.fail("planned anew")
    )
    assert again == before


QUERIES = "".join(
    f'[[query]]\nname = "{name}"\nof = "m"\nselect = "sum(v) as v, count(*) as n"\n{group}window = "3m"\n'
    'slide = "1m"\nrevise = "5m"\nkeep = "1h"\n'
    for name, group in (("all", ""), ("by_key", 'group_by = ["k"]\n'))
)


@pytest.mark.parametrize(("planner", "trees"), [("No Share", 2), ("Shared", 1), ("", 1)])
def test_the_archives_file_names_the_planner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], planner: str, trees: int
) -> None:
    asked_archive(tmp_path / "one", QUERIES)
    copied_archive(tmp_path / "one", tmp_path / "two", monkeypatch)
    if planner:
        file = tmp_path / "two" / "archives" / "m.toml"
        file.write_text(f'{file.read_text()}\n[queries]\nplanner = "{planner}"\n')
    queries = tidewheel.archive.open("m").queries
    queries.refresh()
    explained = [queries.explain(name) for name in ("all", "by_key")]
    assert len({one.tree.name for one in explained}) == trees
    assert [row["v"] for row in queries.ask("all", last=None).to_pylist()] == [11, 23, 36, 39, 42, 45]
    with pytest.raises(SystemExit):
        main(["query", "explain", "m", "all"])
    shown = capsys.readouterr().out
    assert "kept as it is; the query adds" in shown
    with pytest.raises(SystemExit):
        main(["query", "explain", "m", "all", "--json"])
    why = json.loads(capsys.readouterr().out)["tree_why"]
    assert why["is_kept"]
    assert (why["added_s"] < why["alone_s"]) is (trees == 1)


def test_a_planner_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked_archive(tmp_path, QUERIES)
    file = tmp_path / "archives" / "m.toml"
    file.write_text(f'{file.read_text()}\n[queries]\nplanner = "Best"\n')
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(tmp_path / "archives"))
    with pytest.raises(InvalidInput, match="no planner 'Best'"):
        tidewheel.archive.open("m").queries.refresh()


# Of no common period that a refresh could walk along.
ODD = "".join(
    f'[[query]]\nname = "odd{slide}"\nof = "m"\nselect = "sum(v) as v, count(*) as n"\nwindow = "{2 * slide + at}s"\n'
    f'slide = "{slide}s"\nrevise = "5m"\nkeep = "1h"\n'
    for at, slide in enumerate((29, 31, 37, 41, 43, 47, 53, 59))
)


def test_queries_without_a_common_period_are_answered_whatever_the_planner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked_archive(tmp_path / "one", ODD)
    names, found = [f"odd{slide}" for slide in (29, 31, 37, 41, 43, 47, 53, 59)], {}
    for planner in ("No Share", "Shared", "Settle"):
        copied_archive(tmp_path / "one", tmp_path / planner, monkeypatch)
        file = tmp_path / planner / "archives" / "m.toml"
        file.write_text(f'{file.read_text()}\n[queries]\nplanner = "{planner}"\n')
        archive = tidewheel.archive.open("m")
        archive.queries.refresh()
        found[planner] = {name: [row for row in rows if row["complete"] == 1] for name, rows in answers(names).items()}
        trees = kept_trees(derived_job(archive.job, "partials")).trees
        assert len(trees) == 8 if planner == "No Share" else 1 < len(trees) < 8, planner
    assert all(len(rows) > 1 for rows in found["No Share"].values())
    # Older than `revise`, answers are given as far as partials reach: further where longer windows share the tree.
    for name, alone in found["No Share"].items():
        assert all(rows[name][-len(alone) :] == alone for rows in found.values()), name
    # Planners that do not look are shown as what they are.
    with pytest.raises(SystemExit) as ended:
        main(["plan", "m", "--compare", "--nodes", "2", "--json"])
    text = capsys.readouterr().out
    assert (ended.value.code or 0, "Infinity" in text, "NaN" in text) == (0, False, False)
    (pool,) = json.loads(text)["pools"]
    assert pool["planners"]["Shared"]["cost"] is None
    assert pool["cost"] < pool["planners"]["No Share"]["cost"]
    assert pool["optimizers"]["W_RR"]["total"] is None
    with pytest.raises(SystemExit):
        main(["plan", "m", "--compare"])
    assert "cannot be carried out" in capsys.readouterr().out
