"""What is read once in a process: ledgers and newest versions are those of the files that are there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.archives.local_archive import MINUTE_US, Event, LocalArchive
from tidewheel.indexing.errors import Damaged
from tidewheel.storage.ledger_store import ledger_of
from tidewheel.storage.newest import Newest
from tidewheel.storage.snapshot import open_snapshot


def event(slot: int) -> list[Event]:
    return [Event("a", 1, slot * MINUTE_US, (slot + 5) * MINUTE_US)]


def test_the_newest_version_is_opened_again_after_a_commit(tmp_path: Path) -> None:
    archive, newest = LocalArchive(tmp_path).create(), Newest()
    location = archive.job.location
    first = newest.of(location)
    assert newest.of(location) is first
    archive.update({0: event(0)})
    assert newest.of(location).version == first.version + 1 == open_snapshot(location).version
    os.utime(location.child(f"_delta_log/{first.version + 1:020d}.json"), (1, 1))
    assert newest.of(location) is not first


def test_a_ledger_is_that_of_receipts_as_they_lie_there(tmp_path: Path) -> None:
    archive = LocalArchive(tmp_path).create()
    for slot in range(12):  # beyond the first ledger file
        archive.update({slot: event(slot)})
        snapshot = open_snapshot(archive.job.location)
        assert ledger_of(snapshot) == ledger_of(open_snapshot(archive.job.location))
        assert max(ledger_of(snapshot).batches) == (slot, "")
    entry = Path(snapshot.location.child(f"_delta_log/{snapshot.version:020d}.json"))
    whole = entry.read_bytes()
    entry.write_bytes(whole[:-2])
    with pytest.raises(Damaged):
        ledger_of(snapshot)
    entry.write_bytes(whole)
    assert ledger_of(snapshot).version == snapshot.version
