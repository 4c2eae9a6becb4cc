"""What an update touches, counted from the Delta log itself and not from our own receipt."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.archives.small_archive import SmallArchive, generation_of
from tidewheel.commits.operations.expire import expire
from tidewheel.indexing.core.oracle import Record

pytestmark = pytest.mark.usefixtures("spark")
SPAN = 4


def full_batch(slot: int) -> list[Record]:
    """Every lifetime, so that every cell is filled."""
    return [Record(slot, slot + life, f"k{life % 3}", 10 * slot + life) for life in range(1, SPAN + 1)]


def logged(archive: SmallArchive, version: int) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """The files that a log entry adds and removes."""
    entry = archive.folder / "table" / "_delta_log" / f"{version:020d}.json"
    actions = [json.loads(line) for line in entry.read_text().splitlines()]
    return [a["add"] for a in actions if "add" in a], [a["remove"] for a in actions if "remove" in a]


def subindices(actions: list[dict[str, object]]) -> set[tuple[str, ...]]:
    return {tuple(str(a["partitionValues"][name]) for name in ("layout", "g", "e")) for a in actions}  # type: ignore[index]


@pytest.mark.parametrize(("g", "e"), [(2, 2), (3, 2), (4, 4)])
def test_rebuild_in_order_touches_g_plus_e_minus_1(tmp_path: Path, g: int, e: int) -> None:
    archive = SmallArchive(tmp_path, generation_of(g=g, e=e, strategy="rebuild", span=SPAN), SPAN).create()
    archive.update({slot: full_batch(slot) for slot in range(2 * SPAN)})
    for slot in range(2 * SPAN, 2 * SPAN + 3):
        outcome = archive.update({slot: full_batch(slot)})
        assert outcome.version is not None
        added, removed = logged(archive, outcome.version)
        assert len(subindices(added) | subindices(removed)) == g + e - 1
    archive.check()


def test_no_rebuild_rewrites_no_row_while_its_bounds_hold(tmp_path: Path) -> None:
    generation = generation_of(strategy="no_rebuild", span=SPAN, dead_share_max=1.0, runs_max=1000)
    archive = SmallArchive(tmp_path, generation, SPAN).create()
    for slot in range(6):
        outcome = archive.update({slot: full_batch(slot)})
        assert outcome.version is not None
        added, removed = logged(archive, outcome.version)
        assert sum(json.loads(str(a["stats"]))["numRecords"] for a in added) == SPAN
        assert all(change.reason == "expired" for change in outcome.plan.dropped)
        assert len(removed) == len(outcome.plan.dropped)
    archive.check()


@pytest.mark.parametrize("strategy", ["rebuild", "no_rebuild", "expire_rebuild"])
def test_a_column_per_slot_expires_without_reading_a_file(tmp_path: Path, strategy: str) -> None:
    generation = generation_of(g=1, e=SPAN, strategy=strategy, span=SPAN, runs_max=1000)
    archive = SmallArchive(tmp_path, generation, SPAN).create()
    archive.update({slot: full_batch(slot) for slot in range(SPAN)})
    handless = replace(archive.job, given_hand=None)
    for slot in range(SPAN, 2 * SPAN - 1):
        outcome = expire(handless, slot)
        archive.oracle.expire(slot)
        assert outcome.receipt is not None
        assert (outcome.receipt.rows_read, outcome.receipt.files_added) == (0, 0)
        assert outcome.receipt.files_dropped >= 1
        archive.check()
