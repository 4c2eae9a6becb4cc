"""An undo never brings back what a vacuum has deleted or is about to, however slow it is, whatever the clocks say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.archives.copies import committed_us, copied
from tests.support.archives.small_archive import EVERYTHING, HOUR_US, SmallArchive
from tidewheel.commits import attempt as attempt_job
from tidewheel.commits.fail_points import VARIABLE, FailPointReached
from tidewheel.commits.operations.undo import undo
from tidewheel.commits.vacuum import vacuum as vacuum_job
from tidewheel.commits.vacuum.vacuum import vacuum
from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.core.receipts import Deed
from tidewheel.indexing.errors import Conflict, InvalidInput
from tidewheel.jobs.audit.compare import audit
from tidewheel.jobs.update import update
from tidewheel.storage.floor import UNDOS, floor, raise_floor
from tidewheel.storage.ledger_store import all_receipts
from tidewheel.storage.location import Location


@pytest.fixture
def archive(five_slots_built: SmallArchive, tmp_path: Path) -> SmallArchive:
    return copied(five_slots_built, tmp_path)


def meanwhile(monkeypatch: pytest.MonkeyPatch, job: ModuleType, place: str, deed: Callable[[], object]) -> None:
    """Let something else happen while a job is held at a fail point, the first time."""
    reached: list[str] = []

    def held(name: str) -> None:
        if name == place and not reached:
            reached.append(name)
            deed()

    monkeypatch.setattr(job, "reach", held)


def is_whole(archive: SmallArchive) -> None:
    archive.check()
    assert audit(archive.job).findings == ()


def test_no_undo_while_vacuum_is_deleting_also_if_the_clock_was_set_back(
    archive: SmallArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive.expire(50)
    archive.now_us = committed_us(archive, 4) + HOUR_US

    def set_back_and_undo() -> None:
        archive.now_us -= 2 * HOUR_US
        with pytest.raises(InvalidInput, match="only versions before 4 need"):
            undo(archive.job)

    meanwhile(monkeypatch, vacuum_job, "vacuum_listed", set_back_and_undo)
    assert vacuum(archive.job).files["data"] > 0
    is_whole(archive)
    assert archive.snapshot().version == 4
    assert not undo_marks(archive)


def test_an_undo_that_was_held_up_loses_to_the_vacuum_that_came_meanwhile(
    archive: SmallArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive.expire(50)
    archive.now_us = committed_us(archive, 4)

    def time_and_vacuum_pass() -> None:
        archive.now_us += 2 * HOUR_US
        vacuum(archive.job)

    meanwhile(monkeypatch, attempt_job, "ready_to_commit", time_and_vacuum_pass)
    with pytest.raises(Conflict):
        undo(archive.job)
    is_whole(archive)
    assert operations(archive)[-2:] == [Deed.EXPIRE, Deed.FENCE]


def test_what_an_undo_brought_back_before_vacuum_decided_stays(
    archive: SmallArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = archive.content()
    archive.expire(50)
    archive.now_us = committed_us(archive, 4)
    undo(archive.job)
    archive.now_us += 2 * HOUR_US
    vacuum(archive.job)
    assert archive.content() == right
    assert audit(archive.job).findings == ()


def test_a_batch_whose_quarantined_records_are_gone_does_not_come_back(archive: SmallArchive) -> None:
    for bodies in ((1, 2), ()):
        archive.write(5, [Record(5, 200, "too long", body) for body in bodies])
        update(archive.job, [5], confirmed=EVERYTHING)
    archive.now_us = committed_us(archive, 5) + HOUR_US
    assert vacuum(archive.job).quarantined_records == 2
    archive.now_us -= 2 * HOUR_US
    with pytest.raises(InvalidInput, match="only versions before 5 need"):
        undo(archive.job)
    assert audit(archive.job).findings == ()


def test_what_a_killed_undo_announced_costs_one_fence(archive: SmallArchive, monkeypatch: pytest.MonkeyPatch) -> None:
    archive.expire(50)
    archive.now_us = committed_us(archive, 4)
    monkeypatch.setenv(VARIABLE, "planned")
    with pytest.raises(FailPointReached):
        undo(archive.job)
    monkeypatch.delenv(VARIABLE)
    assert len(undo_marks(archive)) == 1
    vacuum(archive.job)
    assert not undo_marks(archive)
    assert operations(archive)[-1] is Deed.FENCE
    vacuum(archive.job)
    assert archive.snapshot().version == 5
    undo(archive.job)
    assert operations(archive)[-1] is Deed.UNDO


def test_a_floor_never_goes_down_and_leaves_few_marks(tmp_path: Path) -> None:
    location = Location.of(tmp_path)
    assert floor(location) == 0
    for version, expected in ((3, 3), (2, 3), (7, 7), (9, 9), (8, 9), (12, 12)):
        raise_floor(location, version)
        assert floor(location) == expected
    assert len(list(tmp_path.rglob("*"))) - 2 == 2


def operations(archive: SmallArchive) -> list[Deed]:
    return [receipt.operation for _, receipt in all_receipts(archive.snapshot())]


def undo_marks(archive: SmallArchive) -> list[str]:
    return [info.base_name for info in archive.job.location.files_below(UNDOS)]
