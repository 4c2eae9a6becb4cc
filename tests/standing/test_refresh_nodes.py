"""Several nodes refresh side by side, each its share of the trees: the answers are those of one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import tidewheel.archive
from tests.support.asked_archive import answers, asked_archive, copied_archive
from tidewheel.local.standing.known import known_of
from tidewheel.local.standing.refresh import Refresh
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
