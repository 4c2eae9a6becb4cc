"""Commits on a local disk: two processes at the same time, and none is lost, none comes twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commit_contract import race, run_writers


def test_two_processes_lose_and_double_nothing(tmp_path: Path) -> None:
    run_writers(str(tmp_path / "table"), writers=2, commits=150).check(2, 150)


@pytest.mark.nightly
def test_two_processes_lose_and_double_nothing_a_thousand_times(tmp_path: Path) -> None:
    outcome = run_writers(str(tmp_path / "table"), writers=2, commits=1_000)
    outcome.check(2, 1_000)
    assert outcome.races_lost > 0


def test_of_32_writers_on_one_version_one_wins(tmp_path: Path) -> None:
    assert len(race(str(tmp_path / "table"), processes=4, writers_each=8)) == 1
