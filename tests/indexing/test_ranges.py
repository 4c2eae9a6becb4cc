"""Ranges are counted before they are listed, and far too many slots need a confirmation."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support.cli_fuzz import GOOD_FILE, build
from tidewheel.archive import open
from tidewheel.cli import main
from tidewheel.indexing.core.guards import SLOTS_MAX, SLOTS_PER_COMMIT_MAX, guard_count
from tidewheel.indexing.core.slots import count_of, gaps_within, range_members, ranges_of
from tidewheel.indexing.errors import Refused

EVER = ("--from", "0001-01-01", "--to", "9999-12-31")
HOURS_EVER = 87_649_392


@pytest.fixture
def tide(tmp_path: Path) -> str:
    """An archive of three hours of 1970 with its file."""
    (tmp_path / "archives").mkdir()
    (tmp_path / "archives" / "tide.toml").write_text(GOOD_FILE, encoding="utf-8")
    build(tmp_path / "tables" / "tide")
    return str(tmp_path / "archives" / "tide.toml")


@pytest.mark.parametrize(
    "words",
    [("update",), ("update", "--dry-run"), ("backfill",), ("backfill", "--missing"), ("backfill", "--each", "9")],
)
def test_all_of_time_is_not_listed(tide: str, words: tuple[str, ...]) -> None:
    answer = CliRunner().invoke(main, [words[0], tide, *EVER, *words[1:]])
    assert answer.exit_code == 3, answer.output
    assert f"{HOURS_EVER:,} slots" in answer.stderr
    assert "--allow-many" in answer.stderr
    assert "Nothing was changed" in answer.stderr


def test_one_commit_takes_fewer_than_a_backfill(tide: str) -> None:
    archive = open(tide)
    with pytest.raises(Refused, match="1,416 slots in one commit"):
        archive.update("1970-01-02", "1970-03-02")
    assert len(archive.slots_to_fill("1970-01-02", "1970-03-02")) == 1416
    with pytest.raises(Refused, match="allow-many"):
        archive.backfill("1970-01-02", "1972-01-02")
    assert len(archive.slots_to_fill("1970-01-02", "1972-01-02", allow_many=True)) == 730 * 24


def test_the_bounds_themselves_pass() -> None:
    guard_count(SLOTS_MAX)
    guard_count(SLOTS_PER_COMMIT_MAX, in_one_commit=True)
    guard_count(SLOTS_MAX**3, allow_many=True)
    for slots, in_one_commit in ((SLOTS_MAX + 1, False), (SLOTS_PER_COMMIT_MAX + 1, True)):
        with pytest.raises(Refused):
            guard_count(slots, in_one_commit=in_one_commit)


@pytest.mark.parametrize("seed", range(200))
def test_gaps_within_a_range_are_what_is_not_applied(seed: int) -> None:
    chance = random.Random(seed)
    applied = {chance.randrange(-9, 9) for _ in range(chance.randrange(12))}
    first = chance.randrange(-9, 9)
    slots = range(first, first + chance.randrange(1, 9))
    gaps = gaps_within(ranges_of(applied), slots)
    assert list(range_members(gaps)) == [slot for slot in slots if slot not in applied], f"seed {seed}"
    assert count_of(gaps) == len(set(slots) - applied)
