"""`tidewheel refresh --budget`: what there is no time for waits, the oldest comes first, and small budgets catch up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tidewheel.archive
from tests.support.asked_archive import answers, asked_archive, copied_archive, events
from tidewheel.cli import main

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
    from tests.support.local_archive import LocalArchive

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
