"""Ledger files joined: every receipt is still told, whoever was reading, and few files are left."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.support.archives.built_table import HOUR_US, BuiltTable
from tests.support.archives.columns import column
from tidewheel.indexing.core.receipts import Receipt
from tidewheel.indexing.rules.vacuum import JOINED_COMMITS_MAX, JOINED_MAX, joined_files
from tidewheel.storage.ledger_store import (
    all_receipts,
    fold_into_ledger,
    folded_versions,
    join_ledger_files,
    ledger_at,
    receipts_since,
)
from tidewheel.storage.snapshot import Snapshot

COMMITS = 12


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    """A ledger file after every commit."""
    table = BuiltTable.create(tmp_path, [column("key", "string")], ["key"])
    for slot in range(COMMITS):
        table.append([table.row(slot, (slot + 3) * HOUR_US, key="k")], watermark=slot)
        fold_into_ledger(table.snapshot, every=1)
    return table.snapshot


def told(snapshot: Snapshot) -> list[tuple[int, Receipt]]:
    return list(all_receipts(snapshot))


def test_every_receipt_and_every_ledger_is_told_as_before(snapshot: Snapshot) -> None:
    receipts, ledgers = told(snapshot), [ledger_at(snapshot, version) for version in range(COMMITS + 1)]
    needless = join_ledger_files(snapshot, before=COMMITS)
    assert len(needless) > 1
    assert told(snapshot) == receipts, "as long as both are there"
    snapshot.receipts.drop(needless)
    assert len(folded_versions(snapshot)) == COMMITS - len(needless)
    assert told(snapshot) == receipts
    assert [ledger_at(snapshot, version) for version in range(COMMITS + 1)] == ledgers
    assert max(needless) < COMMITS, "the newest is what the archive is opened by"


def test_a_reader_in_the_middle_of_it_misses_nothing(snapshot: Snapshot) -> None:
    receipts = told(snapshot)
    reading = receipts_since(snapshot, -1)
    first = next(reading)
    snapshot.receipts.drop(join_ledger_files(snapshot, before=COMMITS))
    assert [first, *reading] == receipts


def test_files_by_which_a_version_may_be_opened_stay(snapshot: Snapshot) -> None:
    assert join_ledger_files(snapshot, before=0) == []
    assert len(folded_versions(snapshot)) == COMMITS


def test_few_files_are_left_however_old_the_archive_is() -> None:
    chance = random.Random(1)
    folded: list[int] = []
    written = version = 0
    while version < 30 * JOINED_COMMITS_MAX:
        for _ in range(chance.randrange(1, 200)):
            version += 10
            folded.append(version)
        if joined := list(joined_files(folded, before=version - 1000)):
            at = folded.index(joined[0])
            assert folded[at : at + len(joined)] == joined, "side by side"
            assert joined[-1] < version - 1000
            written += joined[-1] - (folded[at - 1] if at else 0)
            folded = [one for one in folded if one not in joined[:-1]]
        old = [one for one in folded if one < version - 1000]
        assert len(old) <= JOINED_MAX + version // JOINED_COMMITS_MAX
    assert written < 8 * version, "each receipt is written again a few times"
