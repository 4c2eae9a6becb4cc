"""What vacuum deletes of attempts that never committed cannot be committed any more; a fence does nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.archives.copies import SPAN, copied
from tests.support.archives.small_archive import EVERYTHING, HOUR_US, MINUTE_US, SmallArchive
from tidewheel.commits import attempt
from tidewheel.commits.operations.undo import undo
from tidewheel.commits.vacuum.vacuum import vacuum
from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.core.receipts import Deed
from tidewheel.jobs.audit.compare import audit
from tidewheel.jobs.update import update
from tidewheel.storage.ledger_store import all_receipts

BATCH = [Record(5, 5 + SPAN, "late", 1), Record(5, 6, "later", 2)]


@pytest.fixture
def archive(five_slots_built: SmallArchive, tmp_path: Path) -> SmallArchive:
    return copied(five_slots_built, tmp_path)


def operations(archive: SmallArchive) -> list[Deed]:
    return [receipt.operation for _, receipt in all_receipts(archive.snapshot())]


def leave_files_of_a_dead_attempt(archive: SmallArchive) -> Path:
    """A file that no commit ever brought, ten minutes older than the archive's clock."""
    folder = Path(archive.job.location.uri, "run-20200101T000000-0123456789ab-1", "layout=0", "g=0", "e=0")
    folder.mkdir(parents=True)
    dead = folder / "part-0.parquet"
    dead.write_bytes(b"x")
    written_s = (archive.now_us - 10 * MINUTE_US) / 1e6
    os.utime(dead, (written_s, written_s))
    return dead


def hold_up(monkeypatch: pytest.MonkeyPatch, archive: SmallArchive, elapsed_us: int) -> None:
    """The next writer stops once, right before its commit; meanwhile time passes and vacuum runs."""
    reached = []

    def held_up(name: str) -> None:
        if name == "ready_to_commit" and name not in reached:
            reached.append(name)
            archive.now_us += elapsed_us
            vacuum(archive.job)

    monkeypatch.setattr(attempt, "reach", held_up)


def test_a_writer_held_up_beyond_grace_commits_no_file_that_vacuum_deleted(
    archive: SmallArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive.write(5, BATCH)
    hold_up(monkeypatch, archive, 2 * HOUR_US)
    assert update(archive.job, [5], confirmed=EVERYTHING).tries == 2
    archive.oracle.update({5: BATCH})
    assert operations(archive)[-2:] == [Deed.FENCE, Deed.UPDATE]
    archive.check()
    assert audit(archive.job).findings == ()
    archive.update({5: BATCH})
    archive.check()
    assert audit(archive.job).findings == ()


def test_a_writer_held_up_beyond_grace_commits_no_count_of_quarantined_records_that_are_gone(
    archive: SmallArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive.write(5, [Record(5, 200, "too long", 1)])
    hold_up(monkeypatch, archive, 26 * HOUR_US)
    assert update(archive.job, [5], confirmed=EVERYTHING).tries == 2
    assert operations(archive)[-2:] == [Deed.FENCE, Deed.UPDATE]
    assert audit(archive.job).findings == ()


def test_what_left_by_a_commit_goes_without_a_fence(archive: SmallArchive) -> None:
    archive.now_us += HOUR_US
    assert vacuum(archive.job).files["data"] > 0
    assert Deed.FENCE not in operations(archive)


def test_a_fence_changes_nothing_and_an_undo_goes_back_behind_it(archive: SmallArchive) -> None:
    dead = leave_files_of_a_dead_attempt(archive)
    archive.now_us += HOUR_US - 10 * MINUTE_US
    assert vacuum(archive.job, dry_run=True).files["data"] > 0
    assert Deed.FENCE not in operations(archive), "a rehearsal commits nothing"
    archive.update({5: BATCH})
    before = archive.snapshot()
    vacuum(archive.job)
    assert not dead.exists()
    after = archive.snapshot()
    assert operations(archive)[-1] is Deed.FENCE
    assert (after.files, after.watermark) == (before.files, before.watermark)
    archive.check()
    assert audit(archive.job).findings == ()
    archive.now_us += 1
    assert undo(archive.job).to_version == before.version - 1
    assert Deed.FENCE not in operations(archive)[before.version + 2 :]
    vacuum(archive.job)
    assert archive.snapshot().version == before.version + 2, "what is explained needs no fence"
