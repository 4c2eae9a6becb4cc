"""Dying at any named place changes nothing that a rerun does not mend."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.archives import SmallArchive, generation_of, random_batch
from tidewheel.indexing.definition import Policy
from tidewheel.indexing.oracle import Record
from tidewheel.jobs.audit import audit
from tidewheel.jobs.fail_points import VARIABLE, FailPointReached
from tidewheel.jobs.forget import forget
from tidewheel.jobs.migrate import migrate
from tidewheel.jobs.update import update
from tidewheel.jobs.vacuum import vacuum

pytestmark = pytest.mark.usefixtures("spark")
SPAN = 4
ABOUT_UPDATES = ("planned", "files_written", "quarantine_written", "committed", "ledger_folded")


@pytest.fixture
def archive(tmp_path: Path) -> SmallArchive:
    chance = random.Random(3)
    archive = SmallArchive(tmp_path, generation_of(span=SPAN), SPAN).create()
    for slot in range(9):
        archive.update({slot: random_batch(chance, slot, SPAN)})
    return archive


def content_ids(archive: SmallArchive) -> list[int]:
    return [row[3] for row in archive.content()]


@pytest.mark.parametrize("place", ABOUT_UPDATES)
def test_an_update_that_dies_is_mended_by_a_rerun(
    archive: SmallArchive, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = random_batch(random.Random(8), 9, SPAN)
    archive.write(9, [*records, Record(9, 200, "too long", 1)])
    monkeypatch.setenv(VARIABLE, place)
    with pytest.raises(FailPointReached):
        update(archive.job, [9])
    monkeypatch.delenv(VARIABLE)
    if place in ("committed", "ledger_folded"):
        archive.oracle.update({9: records})
    archive.check()
    update(archive.job, [9])
    archive.oracle.update({9: records})
    archive.check()
    assert audit(archive.job, deep=False).findings == ()
    archive.now_us += 10 * archive.grace_us
    vacuum(archive.job)
    archive.check()
    left = {path.name for path in (archive.folder / "table").glob("run-*")}
    assert left == {file.run for file in archive.snapshot().files}


@pytest.mark.parametrize("relocate", [False, True])
def test_a_migration_that_dies_before_its_commit_changes_nothing(
    archive: SmallArchive, relocate: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    generation = generation_of(g=3, e=1, strategy="rebuild", span=SPAN)
    monkeypatch.setenv(VARIABLE, "planned")
    with pytest.raises(FailPointReached):
        migrate(archive.job, generation, relocate=relocate)
    monkeypatch.delenv(VARIABLE)
    archive.check()
    migrate(archive.job, generation, relocate=relocate)
    archive.migrated_to(generation)
    archive.check()


def test_a_forget_that_dies_after_its_commit_is_finished_by_a_rerun(
    archive: SmallArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive.policy = replace(Policy())
    archive.update({9: [Record(9, 200, "k1", 1), Record(9, 11, "k1", 2), Record(9, 11, "k2", 3)]})
    monkeypatch.setenv(VARIABLE, "committed")
    with pytest.raises(FailPointReached):
        forget(archive.job, keys=[("k1",)])
    monkeypatch.delenv(VARIABLE)
    forget(archive.job, keys=[("k1",)])
    assert not [row for row in archive.content() if row[2] == "k1"]
    assert "k1" not in (archive.folder / "table" / "_delta_log").joinpath(f"{11:020d}.json").read_text()
