"""Records that came and were not stored are counted by standing queries, and kept as long as that needs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.archives.local_archive import MINUTE_US, LocalArchive
from tests.support.archives.refreshed_archive import ALIVE, TOTAL, answers, event, refresh
from tidewheel.commits.clock import now_us
from tidewheel.commits.fail_points import VARIABLE, FailPointReached
from tidewheel.commits.operations.forget import forget
from tidewheel.commits.operations.undo import undo
from tidewheel.commits.side_tables.unstored import UNSTORED_TABLE
from tidewheel.commits.status import status
from tidewheel.commits.vacuum.vacuum import vacuum
from tidewheel.jobs.audit.compare import audit
from tidewheel.local.standing.outcome import Refreshed


def test_a_record_that_came_unstored_before_the_first_query_makes_an_answer_incomplete(tmp_path: Path) -> None:
    archive = LocalArchive(tmp_path).create()
    archive.update({0: [event(0, 1)], 1: [event(1, 1), event(1, 5, lives=0)], 2: [event(2, 1)]})
    refresh(archive.job, [TOTAL, ALIVE])
    assert answers(archive, TOTAL, minutes=True)[3,]["complete"] == pytest.approx(2 / 3)
    assert answers(archive, ALIVE, minutes=True)[3,]["n"] == 3


def observed(folder: Path) -> LocalArchive:
    """Minutes 0 to 4, the first asked of by a query; of 2, a record is short-lived and one dead on arrival."""
    archive = LocalArchive(folder).create()
    archive.update({0: [event(0, 1)]})
    refresh(archive.job, [TOTAL])
    archive.update({1: [], 3: [], 4: [event(4, 16)]})
    archive.now_us = now_us() + 1
    receipt = archive.update({2: [event(2, 2), event(2, 4, "short", lives=0), event(2, 8, "dead", lives=1)]}).receipt
    assert receipt is not None
    assert [(one.stored, one.short_lived, one.dead_on_arrival, one.beside) for one in receipt.slots] == [(1, 1, 1, 2)]
    return archive


def totals(archive: LocalArchive) -> list[int]:
    """What three minutes hold that end with 2, 3 and 4, all of it."""
    refresh(archive.job, [TOTAL])
    assert refresh(archive.job, [TOTAL]) == Refreshed((), ())
    found = answers(archive, TOTAL, minutes=True)
    assert [found[at,]["complete"] for at in (3, 4, 5)] == [1, 1, 1]
    assert audit(archive.job, deep=False).findings == ()
    return [found[at,]["total"] for at in (3, 4, 5)]


def test_records_that_came_and_were_not_stored_are_counted(tmp_path: Path) -> None:
    archive = observed(tmp_path)
    assert totals(archive) == [15, 14, 30]
    archive.update({2: [event(2, 32), event(2, 64, lives=0)]})
    assert totals(archive) == [97, 96, 112]
    undo(archive.job)
    assert totals(archive) == [15, 14, 30]
    forget(archive.job, keys=[("short",)])
    assert totals(archive) == [11, 10, 26]
    forget(archive.job, keys=[("dead",)])
    assert totals(archive) == [3, 2, 18]
    archive.update({2: [event(2, 2), event(2, 4, "short", lives=0), event(2, 128, lives=0)]})
    assert totals(archive) == [131, 130, 146]


def test_a_crash_before_the_commit_leaves_nothing_that_counts_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = observed(tmp_path)
    monkeypatch.setenv(VARIABLE, "ready_to_commit")
    with pytest.raises(FailPointReached):
        archive.update({2: [event(2, 32), event(2, 64, lives=0)]})
    monkeypatch.delenv(VARIABLE)
    assert totals(archive) == [15, 14, 30]
    archive.update({2: [event(2, 32), event(2, 64, lives=0)]})
    assert totals(archive) == [97, 96, 112]


def rows_beside(archive: LocalArchive) -> int:
    table = UNSTORED_TABLE.open(archive.job.location)
    return 0 if table is None else int(table.to_pyarrow_table().num_rows)


def test_they_stay_until_they_were_counted_and_grace_is_over(tmp_path: Path) -> None:
    archive = observed(tmp_path)
    archive.now_us += archive.grace_us + MINUTE_US
    vacuum(archive.job)
    assert rows_beside(archive) == 2, "nobody has counted them"
    assert totals(archive) == [15, 14, 30]
    vacuum(archive.job)
    assert rows_beside(archive) == 0
    assert totals(archive) == [15, 14, 30]
    archive.update({2: [event(2, 2), event(2, 64, lives=0)]})
    assert totals(archive) == [67, 66, 82]
    vacuum(archive.job)
    assert (rows_beside(archive), totals(archive)) == (1, [67, 66, 82]), "an undo may want it"


def test_nobody_waits_for_them_longer_than_the_deadline_says(tmp_path: Path) -> None:
    archive = observed(tmp_path)
    deadline = status(archive.job).deadline
    kept, vacuums, *_ = deadline.unstored
    assert deadline.unstored_us == kept.duration_us + 3 * archive.grace_us
    assert (kept.duration_us, vacuums.name) == (archive.span * MINUTE_US + archive.grace_us, "vacuum")
    archive.now_us += kept.duration_us + MINUTE_US
    vacuum(archive.job)
    assert rows_beside(archive) == 0
    refresh(archive.job, [TOTAL])
    assert answers(archive, TOTAL, minutes=True)[3,]["complete"] == pytest.approx(2 / 3), "and an answer says so"
    assert audit(archive.job, deep=False).findings == ()


def test_an_archive_that_nobody_asks_keeps_none(tmp_path: Path) -> None:
    archive = LocalArchive(tmp_path).create()
    outcome = archive.update({2: [event(2, 2), event(2, 4, "short", lives=0)]})
    assert outcome.plan.unstored_from is None
    assert (rows_beside(archive), status(archive.job).deadline.unstored) == (0, ())


def test_a_predicate_reaches_what_was_counted_and_not_stored(tmp_path: Path, spark: object) -> None:
    archive = observed(tmp_path)
    assert totals(archive) == [15, 14, 30]
    forgotten = forget(archive.job, where="k = 'short'")
    assert (forgotten.rows_found, forgotten.quarantined_forgotten, len(forgotten.plan.tombstones)) == (0, 1, 1)
    assert totals(archive) == [11, 10, 26]
    forget(archive.job, where="v >= 8")  # one beside the archive, and one in it
    assert totals(archive) == [3, 2, 2]
    assert forget(archive.job, where="v = 8").found_nothing
