"""The slots that answers were given for: told as long as somebody asks, and counted as reports."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.archives.local_archive import MINUTE_US, LocalArchive
from tests.support.archives.refreshed_archive import answers, audit_is_clean, event, query_of, refresh
from tidewheel.commits.operations.undo import undo
from tidewheel.indexing.core.batch_map import Batch
from tidewheel.indexing.core.ledger import Ledger
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.local.derived.neighbours import derived_job
from tidewheel.local.standing.outcome import Refreshed
from tidewheel.queries.standing import staleness
from tidewheel.queries.standing.bounds import reports_missing
from tidewheel.storage.ledger_store import ledger_of

SECOND = query_of("second", 'select = "sum(v) as s"\nwindow = "2m"\nslide = "2m"\nrevise = "2m"\nkeep = "8m"')
SLOTS, PAST_MAX = 60, 5


def test_those_that_nobody_asks_about_any_more_leave_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report in every second slot makes a range each, which would stay for ever."""
    monkeypatch.setattr(staleness, "PAST_MAX", PAST_MAX)
    archive, most = LocalArchive(tmp_path, now_us=0).create(), 0
    for slot in range(SLOTS):
        archive.now_us = (slot + 1) * MINUTE_US
        archive.update({slot: [event(slot, slot)]})
        done = refresh(archive.job, [SECOND])
        assert [(one.slot, one.revision) for one in done.due] == [(slot, 0)] * (slot % 2)
        assert refresh(archive.job, [SECOND]) == Refreshed((), ())
        most = max(most, len(given(archive)))
    assert PAST_MAX < most <= 8 + 1 + PAST_MAX + 1, "twice as long as answers are kept, and what is let stand"
    assert {at: one["s"] for (at,), one in answers(archive, SECOND, minutes=True).items()} == {
        at: 2 * at - 3 for at in range(SLOTS - 6, SLOTS + 1, 2)
    }
    assert audit_is_clean(archive)

    place = derived_job(archive.job, "answers")
    version = place.snapshot().version
    undo(place, version - 1)
    assert refresh(archive.job, [SECOND]).due, "what the undo took is given again"
    assert audit_is_clean(archive)


def given(archive: LocalArchive) -> tuple[tuple[int, int], ...]:
    found = ledger_of(derived_job(archive.job, "answers").snapshot()).applied_parts
    return found.get(SECOND.part, ())


def test_a_slot_of_a_slow_query_is_a_report_and_what_is_no_longer_kept_none() -> None:
    axis, kept = TimeAxis(MINUTE_US), query_of("k", SECOND_KEPT)
    source = Ledger(batches={(slot, ""): Batch("a", 1) for slot in range(100)})
    all_given = tuple((slot, slot) for slot in range(1, 100, 2))
    assert reports_missing(axis, source, Ledger(), kept) == 20
    assert reports_missing(axis, source, Ledger(applied_parts={kept.part: all_given}), kept) == 0
    assert reports_missing(axis, source, Ledger(applied_parts={kept.part: all_given[:40]}), kept) == 10


SECOND_KEPT = 'select = "sum(v) as s"\nwindow = "2m"\nslide = "2m"\nrevise = "2m"\nkeep = "40m"'
