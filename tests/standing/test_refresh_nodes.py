"""Several nodes refresh side by side, each its share of the trees: the answers are those of one."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import tidewheel.archive
from tests.support.archives.asked_archive import QUERIES, answers, asked_archive, copied_archive
from tidewheel.cli import main
from tidewheel.commits.archive import ArchiveJob
from tidewheel.local.derived import neighbours
from tidewheel.local.derived.neighbours import is_there
from tidewheel.local.standing import derive
from tidewheel.local.standing.refresh import Refresh
from tidewheel.local.standing.statistics import known_of
from tidewheel.queries.planning.load import node_of

NAMES = ("total", "by_key", "alive")


def by_group(place: Path) -> None:
    file = place / "archives" / "m.toml"
    file.write_text(f'{file.read_text()}\n[queries]\nplanner = "By Group"\n')


@pytest.mark.parametrize("at_once", [False, True])
def test_nodes_give_the_answers_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: bool) -> None:
    asked_archive(tmp_path / "one")
    by_group(tmp_path / "one")
    copied_archive(tmp_path / "one", tmp_path / "two", monkeypatch)
    two = tidewheel.archive.open("m")

    def node(number: int) -> set[str]:
        due = tidewheel.archive.open("m").queries.refresh(node=(number, 2)).due
        return {one.part.split("@")[0] for one in due}

    if at_once:
        with ThreadPoolExecutor(2) as pool:
            shares = list(pool.map(node, (1, 2)))
    else:
        shares = [node(1), node(2)]
    assert shares[0] | shares[1] == set(NAMES)
    if not at_once:
        assert not shares[0] & shares[1]
        assert all(shares)
    rest = two.queries.refresh()
    assert (rest.stale, rest.due) == ((), ())
    found = answers(NAMES)
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(tmp_path / "one" / "archives"))
    tidewheel.archive.open("m").queries.refresh()
    assert found == answers(NAMES)


def test_who_comes_second_uses_what_the_first_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes begin together: each finds neither partials nor answers, and one of them is there first."""
    asked_archive(tmp_path)
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(tmp_path / "archives"))
    by_group(tmp_path)
    seen: Counter[str] = Counter()
    told_by = is_there

    def not_yet(job: ArchiveJob) -> bool:
        seen[job.location.uri] += 1
        # Both looks come before the first writes: for the trees that there are, and for the table.
        return seen[job.location.uri] > (2 if job.location.uri.endswith("partials") else 1) and told_by(job)

    first = tidewheel.archive.open("m").queries.refresh(node=(1, 2))
    with monkeypatch.context() as late:
        late.setattr(neighbours, "is_there", not_yet)
        late.setattr(derive, "is_there", not_yet)
        second = tidewheel.archive.open("m").queries.refresh(node=(2, 2))
    assert {one.part.split("@")[0] for done in (first, second) for one in done.due} == set(NAMES)
    rest = tidewheel.archive.open("m").queries.refresh()
    assert (rest.stale, rest.due) == ((), ())


def test_every_tree_has_a_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked_archive(tmp_path)
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(tmp_path / "archives"))
    archive = tidewheel.archive.open("m")
    queries = archive.queries.check()
    assignment = Refresh(archive.job, queries, planner="No Share").assignment()
    known = known_of(archive.job, queries)
    for nodes in (1, 2, 3, 9):
        placed = node_of(assignment, queries, known, nodes)
        assert placed.keys() == {tree.name for tree in assignment.trees}
        assert len(set(placed.values())) == min(nodes, len(assignment.trees))


def told(*words: str) -> Any:
    done = CliRunner().invoke(main, ["refresh", "m", *words, "--json"])
    return done.exit_code, json.loads(done.stdout) if done.stdout else {}, done.stderr


def named(parts: list[dict[str, Any]]) -> set[str]:
    return {one["part"].split("@")[0] for one in parts}


FAULTY = (
    '\n[[query]]\nname = "faulty"\nof = "m"\nselect = "sum(cast(k as bigint)) as n"\ngroup_by = ["v"]\n'
    'window = "2m"\nslide = "1m"\nrevise = "5m"\nkeep = "1h"\n'
)


def test_nodes_by_hand_and_one_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked_archive(tmp_path, QUERIES + FAULTY)
    by_group(tmp_path)
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(tmp_path / "archives"))
    nodes = [f"{number}/4" for number in (1, 2, 3, 4)]
    shares = [{one["tree"] for one in told("--dry-run", "--node", node)[1]["stale"]} for node in nodes]
    assert all(shares)
    assert sum(map(len, shares)) == len(set().union(*shares)), "no tree has two nodes"
    done = [told("--node", node) for node in nodes]
    assert sorted(code for code, _, _ in done) == [0, 0, 0, 2]
    assert [named(document["due"]) for code, document, _ in done if code] == [set()]
    assert set().union(*(named(document["due"]) for _, document, _ in done)) == set(NAMES)
    assert all("faulty" in said for code, _, said in done if code)
    # The others have nothing left to do, and what failed is done when it can be.
    file = tmp_path / "archives" / "queries" / "m.toml"
    file.write_text(file.read_text().replace("cast(k as bigint)", "v"))
    assert set().union(*(named(told("--node", node)[1]["due"]) for node in nodes)) == {"faulty"}


@pytest.mark.parametrize("node", ["0/4", "5/4", "2", "2/65", "a/b", "2/4/6"])
def test_a_node_that_there_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, node: str) -> None:
    asked_archive(tmp_path)
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(tmp_path / "archives"))
    code, _, said = told("--node", node)
    assert code == 2
    assert "2/4" in said
    assert not (tmp_path / "table.partials").exists()
