"""A table that is followed is the one that is opened, after commits of all kinds and where its log is not as it was."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.archives.local_archive import MINUTE_US, Event, LocalArchive
from tidewheel.commits.operations.expire import expire
from tidewheel.commits.operations.forget import forget
from tidewheel.commits.operations.observe import observe
from tidewheel.commits.operations.undo import undo
from tidewheel.commits.vacuum.vacuum import vacuum
from tidewheel.indexing.core.layouts import Strategy
from tidewheel.indexing.errors import TidewheelError
from tidewheel.storage.followed import ENTRIES_MAX, Followed, follow
from tidewheel.storage.newest import Newest
from tidewheel.storage.snapshot import Snapshot, open_snapshot


def batch(slot: int, chance: random.Random) -> list[Event]:
    begins = slot * MINUTE_US
    return [
        Event(f"k{chance.randrange(4)}", number, begins, begins + chance.randrange(1, 5) * MINUTE_US)
        for number in range(chance.randrange(5))
    ]


def said(snapshot: Snapshot) -> tuple[object, ...]:
    files = sorted(snapshot.files, key=lambda one: one.path)
    told = (snapshot.version, snapshot.head, snapshot.watermark, snapshot.digest, snapshot.definition, snapshot.schema)
    return (*told, files, snapshot.table.version(), snapshot.bytes)


@pytest.mark.parametrize("seed", range(6))
def test_whatever_is_committed_it_is_the_table_that_is_opened(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    archive = LocalArchive(tmp_path, grace_us=1).create(chance.choice(list(Strategy)))
    newest, job, slot, followed = Newest(), archive.job, 0, 0
    deeds: list[Callable[[], object]] = [
        lambda: archive.update({slot: batch(slot, chance)}),
        lambda: archive.update({max(0, slot - 2): batch(slot - 2, chance), slot: batch(slot, chance)}),
        lambda: expire(job, slot - 1),
        lambda: forget(job, keys=[(f"k{chance.randrange(4)}",)]),
        lambda: undo(job, job.snapshot().version - 1),
        lambda: observe(job, chance.randrange(3, 9)),
        lambda: vacuum(job),
    ]
    before: list[tuple[Snapshot, tuple[object, ...]]] = []
    for _ in range(30):
        slot += 1
        try:
            chance.choices(deeds, [8, 2, 1, 1, 1, 1, 1])[0]()
        except TidewheelError:
            continue  # nothing to undo, nothing to forget
        if chance.random() < 0.7:
            found = newest.of(job.location)
            followed += isinstance(found, Followed)
            assert said(found) == said(open_snapshot(job.location))
            before.append((found, said(found)))
    assert followed > 5
    for snapshot, then in before[-3:]:
        assert said(snapshot) == then, "a version stays what it was, whoever follows the log"


def test_a_followed_version_commits_on_top_of_itself_or_not_at_all(tmp_path: Path) -> None:
    archive, newest = LocalArchive(tmp_path).create(), Newest()
    location, chance = archive.job.location, random.Random(1)
    newest.of(location)
    for slot in range(3):
        archive.update({slot: batch(slot, chance)})
    older = newest.of(location)
    archive.update({3: batch(3, chance)})
    newer = newest.of(location)
    assert isinstance(older, Followed)
    assert isinstance(newer, Followed)
    assert newer.table.version() == newer.version == older.version + 1
    assert older.table.version() == older.version


def test_behind_very_many_commits_a_table_is_opened(tmp_path: Path) -> None:
    archive = LocalArchive(tmp_path).create()
    snapshot = open_snapshot(archive.job.location)
    for slot in range(ENTRIES_MAX - 1):
        archive.update({slot: batch(slot, random.Random(slot))})
    assert isinstance(follow(snapshot), Followed)
    archive.update({ENTRIES_MAX: batch(0, random.Random(0))})
    assert follow(snapshot) is None


def changed_number(line: str, name: str) -> str:
    """The entry's line with another number of a transaction in it."""
    values = json.loads(line)
    if values.get("txn", {}).get("appId") == name:
        values["txn"]["version"] += 1
    return json.dumps(values)


WRONG: dict[str, Callable[[list[str]], list[str]]] = {
    "another digest": lambda lines: [changed_number(one, "tidewheel/files") for one in lines],
    "another head": lambda lines: [changed_number(one, "tidewheel/head") for one in lines],
    "a file less": lambda lines: [one for one in lines if '{"add"' not in one],
    "cut": lambda lines: lines[:-1],
    "torn": lambda lines: [*lines[:-1], lines[-1][:-9]],
    "empty": lambda lines: [],
    "a domain": lambda lines: [*lines, '{"domainMetadata":{"domain":"d","configuration":"","removed":false}}'],
    "no statistics": lambda lines: [one.replace("numRecords", "records") for one in lines],
}


@pytest.mark.parametrize("how", WRONG)
def test_an_entry_that_is_not_a_plain_commit_is_not_followed(tmp_path: Path, how: str) -> None:
    archive, newest = LocalArchive(tmp_path).create(), Newest()
    snapshot = newest.of(archive.job.location)
    archive.update({0: [Event("a", 1, 0, 2 * MINUTE_US)]})
    entry = tmp_path / "table" / "_delta_log" / f"{snapshot.version + 1:020d}.json"
    entry.write_text("\n".join(WRONG[how](entry.read_text().splitlines())))
    assert follow(snapshot) is None
    is_found_as_opened(archive, newest)


def test_an_entry_that_cannot_be_read_is_left_to_who_opens_the_table(tmp_path: Path) -> None:
    archive, newest = LocalArchive(tmp_path).create(), Newest()
    snapshot = newest.of(archive.job.location)
    archive.update({0: [Event("a", 1, 0, 2 * MINUTE_US)]})
    entry = tmp_path / "table" / "_delta_log" / f"{snapshot.version + 1:020d}.json"
    entry.unlink()
    entry.mkdir()
    assert follow(snapshot) is None
    is_found_as_opened(archive, newest)


def is_found_as_opened(archive: LocalArchive, newest: Newest) -> None:
    try:
        there: object = said(open_snapshot(archive.job.location))
    except TidewheelError as error:
        there = type(error)
    try:
        found: object = said(newest.of(archive.job.location))
    except TidewheelError as error:
        found = type(error)
    assert found == there


def test_a_table_made_anew_in_its_place_is_opened(tmp_path: Path) -> None:
    archive, newest = LocalArchive(tmp_path).create(), Newest()
    archive.update({0: [Event("a", 1, 0, 2 * MINUTE_US)]})
    newest.of(archive.job.location)
    shutil.rmtree(tmp_path / "table")
    again = LocalArchive(tmp_path).create()
    for slot in range(3):
        again.update({slot: [Event("b", 2, slot * MINUTE_US, (slot + 2) * MINUTE_US)]})
    os.utime(tmp_path / "table" / "_delta_log" / f"{1:020d}.json", (1, 1))
    found = newest.of(archive.job.location)
    assert not isinstance(found, Followed)
    assert said(found) == said(open_snapshot(archive.job.location))


def test_a_log_whose_entries_are_gone_is_opened_from_its_checkpoint(tmp_path: Path) -> None:
    archive, newest = LocalArchive(tmp_path).create(), Newest()
    for slot in range(5):
        archive.update({slot: batch(slot, random.Random(slot))})
    newest.of(archive.job.location)
    for slot in range(5, 12):
        archive.update({slot: batch(slot, random.Random(slot))})
    for version in range(8):
        (tmp_path / "table" / "_delta_log" / f"{version:020d}.json").unlink()
    assert said(newest.of(archive.job.location)) == said(open_snapshot(archive.job.location))
