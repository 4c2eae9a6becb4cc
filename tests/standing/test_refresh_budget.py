"""`tidewheel refresh --budget`: what there is no time for waits, the oldest comes first, and small budgets catch up."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import tidewheel.archive
from tests.support.archives.asked_archive import answers, asked_archive, copied_archive, events
from tidewheel.cli import main
from tidewheel.commits.fail_points import VARIABLE, FailPointReached
from tidewheel.local.standing.outcome import Refreshed

QUERIES = ("total", "by_key", "alive")


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """One archive twice."""
    asked_archive(tmp_path / "one")
    copied_archive(tmp_path / "one", tmp_path / "two", monkeypatch)
    return tmp_path / "one", tmp_path / "two"


def run(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(place / "archives"))
    with pytest.raises(SystemExit) as ended:
        main(["refresh", "m", *words])
    shown = capsys.readouterr()
    assert ended.value.code in (0, None), shown.err
    return shown.out


def test_small_budgets_catch_up(
    two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = two
    run(one, monkeypatch, capsys)
    all_at_once = answers(QUERIES)
    made, behind = [], []
    for _ in range(40):
        told = json.loads(run(other, monkeypatch, capsys, "--budget", "0", "--json"))
        if not told["stale"] and not told["due"]:
            break
        made.append(len(told["stale"]) + len(told["due"]))
        behind.append((told["left"]["partials"], told["left"]["slots_late"]))
    assert all(made), "every refresh does something"
    assert len(made) > 3
    assert behind[0] == (10, 5), "of six slots and two trees, one slot was folded and one tree answered of it"
    assert behind[-1] == (0, 0)
    assert answers(QUERIES) == all_at_once
    assert "nothing is stale" in run(other, monkeypatch, capsys, "--budget", "0")


@pytest.fixture(scope="module")
def long_ago(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive with far more slots than answers are corrected of, as new queries find it; not to be touched."""
    folder = tmp_path_factory.mktemp("long_ago")
    archive = asked_archive(folder)
    for slot in range(6, 18):
        archive.update({slot: events(slot)})
    return folder


def test_older_answers_of_new_queries_keep_to_it(
    long_ago: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None is given but as it would be with all the time, none is lost, and the younger ones wait for none of them."""
    copied_archive(long_ago, tmp_path / "one", monkeypatch)
    done = tidewheel.archive.open("m").queries.refresh()
    older = {one.slot for one in done.due if one.why.startswith("missing, and older")}
    assert len(older) > 3
    all_at_once = answers(QUERIES)
    copied_archive(long_ago, tmp_path / "other", monkeypatch)
    left, steps = [], 0
    while _did(done):
        done = tidewheel.archive.open("m").queries.refresh(budget_s=0)
        left.append(done.left)
        mine = [one for one in done.due if one.slot in older]
        assert all(report.complete == 1 for one in mine for report in one.reports)
        steps += bool(mine)
    assert steps > 1, "they are given in several refreshes"
    assert any(one.older and not one.partials and not one.answers for one in left), "what is young came first"
    assert answers(QUERIES) == all_at_once


@pytest.mark.nightly
@pytest.mark.parametrize("point", ["committed", "answers_committed", "planned"])
def test_a_killed_refresh_loses_none_of_them(
    long_ago: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    copied_archive(long_ago, tmp_path / "one", monkeypatch)
    tidewheel.archive.open("m").queries.refresh()
    all_at_once = answers(QUERIES)
    copied_archive(long_ago, tmp_path / "other", monkeypatch)
    for _ in range(25):
        with monkeypatch.context() as patch, suppress(FailPointReached):
            patch.setenv(VARIABLE, point)
            tidewheel.archive.open("m").queries.refresh(budget_s=0)
        done = tidewheel.archive.open("m").queries.refresh(budget_s=0)
        if not _did(done):
            break
    # With all the time of the world at last, whatever is owed is settled, and the definition says so no more.
    tidewheel.archive.open("m").queries.refresh()
    assert answers(QUERIES) == all_at_once
    assert "owed" not in json.loads(tidewheel.archive.open("m.answers").snapshot().definition.derived)


@pytest.mark.nightly
def test_nodes_owe_each_their_own(long_ago: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied_archive(long_ago, tmp_path / "one", monkeypatch)
    tidewheel.archive.open("m").queries.refresh()
    all_at_once = answers(QUERIES)
    copied_archive(long_ago, tmp_path / "other", monkeypatch)
    queries = tidewheel.archive.open("m").queries
    did = [True]
    while any(did):
        did = [_did(queries.refresh(budget_s=0, node=(number, 2))) for number in (1, 2)]
    assert answers(QUERIES) == all_at_once


def _did(done: Refreshed) -> bool:
    return bool(done.stale or done.due or done.left)


def test_what_is_owed_is_given_by_a_refresh_without_a_budget(
    long_ago: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied_archive(long_ago, tmp_path, monkeypatch)
    queries = tidewheel.archive.open("m").queries
    while not (done := queries.refresh(budget_s=0)).left.older:
        pass
    assert done.left
    assert "owed" in json.loads(tidewheel.archive.open("m.answers").snapshot().definition.derived)
    queries.refresh()
    assert not _did(queries.refresh(budget_s=0))


def test_a_dry_run_tells_of_as_many_partials(
    long_ago: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before the first refresh as well, when the archive is not told yet how far back it is asked."""
    copied_archive(long_ago, tmp_path, monkeypatch)
    shown = run(tmp_path, monkeypatch, capsys, "--dry-run")
    assert "missing answers those are given whose windows can be read" in shown
    dry = json.loads(run(tmp_path, monkeypatch, capsys, "--dry-run", "--json"))
    assert not (tmp_path / "table.partials").exists()
    told = json.loads(run(tmp_path, monkeypatch, capsys, "--json"))
    assert dry["stale"] == told["stale"]
    assert 0 < sum(one["reports"] for one in told["due"]) <= dry["missing"]


def test_answers_say_how_late_they_are(
    two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one, _ = two
    shown = run(one, monkeypatch, capsys, "--budget", "0")
    assert "the budget is used up" in shown
    assert "5 slots late: refresh again" in shown
    run(one, monkeypatch, capsys, "--budget", "60")
    late = {row["slots_late"] for row in tidewheel.archive.open("m").queries.ask("total", last=None).to_pylist()}
    assert late >= {0, 1, 2}, "the newest came in time, those before it did not"


def test_new_batches_do_not_starve_old_answers(
    two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.support.archives.local_archive import LocalArchive

    place, _ = two
    archive, reached = LocalArchive(place), []
    for slot in range(6, 9):
        archive.update({slot: events(slot)})
        run(place, monkeypatch, capsys, "--budget", "0")
        ends = [row["window_end"] for row in kept("alive") + kept("total") + kept("by_key")]
        reached.append((len(ends), min(ends, default=None)))
    assert reached[-1][0] > reached[0][0]
    run(place, monkeypatch, capsys)
    late = answers(QUERIES)
    assert all(late[name] for name in QUERIES)


def kept(name: str) -> list[dict[str, Any]]:
    from tidewheel.indexing.errors import InvalidInput

    try:
        return list(tidewheel.archive.open("m").queries.ask(name, last=None).to_pylist())
    except InvalidInput:
        return []


def test_a_negative_budget(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["refresh", "m", "--budget", "-1"])
    assert ended.value.code == 2
    assert "--budget" in capsys.readouterr().err
