"""Refreshes that die, two at once, a key that must be gone to the last byte, and queries that make no sense."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.standing.test_standing_refresh import ALIVE, BY_KEY, TOTAL, answers, audit_is_clean, event, query_of
from tests.support.byte_search import holders
from tests.support.local_archive import LocalArchive
from tidewheel.commits.fail_points import VARIABLE, FailPointReached
from tidewheel.commits.forget import forget
from tidewheel.commits.vacuum import vacuum
from tidewheel.indexing.errors import InvalidInput
from tidewheel.local.standing.derivation import derived_job
from tidewheel.local.standing.refresh import refresh
from tidewheel.local.standing.refreshed import Refreshed

QUERIES = [TOTAL, BY_KEY, ALIVE]


def fed(folder: Path, slots: int = 5) -> LocalArchive:
    archive = LocalArchive(folder).create()
    for slot in range(slots):
        archive.update({slot: [event(slot, slot + 1), event(slot, 7, "b")]})
    return archive


def all_answers(archive: LocalArchive) -> dict[str, Any]:
    return {query.name: answers(archive, query) for query in QUERIES}


@pytest.mark.parametrize("point", ["planned", "files_written", "ready_to_commit", "committed", "partials_committed",
                                   "answers_committed"])  # fmt: skip
def test_a_refresh_that_dies_anywhere_is_finished_by_the_next(
    point: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, broken = fed(tmp_path / "whole"), fed(tmp_path / "broken")
    refresh(whole.job, QUERIES)
    monkeypatch.setenv(VARIABLE, point)
    with pytest.raises(FailPointReached):
        refresh(broken.job, QUERIES)
    monkeypatch.delenv(VARIABLE)
    refresh(broken.job, QUERIES)
    assert all_answers(broken) == all_answers(whole)
    for one in (whole, broken):
        one.update({2: [event(2, 50)]})
    refresh(whole.job, QUERIES)
    monkeypatch.setenv(VARIABLE, point)
    with pytest.raises(FailPointReached):
        refresh(broken.job, QUERIES)
    monkeypatch.delenv(VARIABLE)
    refresh(broken.job, QUERIES)
    again = refresh(broken.job, QUERIES)
    assert (again.stale, again.due) == ((), ())
    values = [{name: {at: row["rows"] for at, row in rows.items()} for name, rows in all_answers(one).items()}
              for one in (whole, broken)]  # fmt: skip
    assert values[0] == values[1]
    assert audit_is_clean(broken)


def test_two_refreshes_at_once_give_each_answer_once(tmp_path: Path) -> None:
    archive, alone = fed(tmp_path / "both", 3), fed(tmp_path / "alone", 3)
    refresh(archive.job, QUERIES)
    refresh(alone.job, QUERIES)
    for one in (archive, alone):
        one.update({3: [event(3, 9)], 1: [event(1, 30)]})
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: refresh(archive.job, QUERIES), range(2)))
    refresh(alone.job, QUERIES)
    assert all_answers(archive) == all_answers(alone)
    assert audit_is_clean(archive)


def test_a_forgotten_key_is_in_no_byte_after_the_deadline(tmp_path: Path) -> None:
    secret = "Zq7-forget-me-4411"
    archive = LocalArchive(tmp_path).create()
    for slot in range(4):
        archive.update({slot: [event(slot, 1), event(slot, 2, secret)]})
        refresh(archive.job, QUERIES)
    assert holders(tmp_path, [secret])
    forget(archive.job, keys=[(secret,)])
    refresh(archive.job, QUERIES)
    assert refresh(archive.job, QUERIES) == Refreshed((), ())
    archive.now_us += 20 * archive.grace_us
    for job in (archive.job, derived_job(archive.job, "partials"), derived_job(archive.job, "answers")):
        vacuum(job)
    archive.now_us += 20 * archive.grace_us
    for job in (archive.job, derived_job(archive.job, "partials"), derived_job(archive.job, "answers")):
        vacuum(job)
    assert holders(tmp_path, [secret]) == {}


def test_a_sum_beyond_all_bounds_is_an_error_and_nothing_is_lost(tmp_path: Path) -> None:
    archive = fed(tmp_path)
    refresh(archive.job, [TOTAL])
    before = answers(archive, TOTAL)
    wide = query_of(
        "wide", 'select = "sum(v::DECIMAL(38,0) * 99999999999999999999999999999999999999) as s"\nwindow = "1m"'
    )
    with pytest.raises(InvalidInput, match="wide"):
        refresh(archive.job, [TOTAL, wide])
    refresh(archive.job, [TOTAL])
    assert answers(archive, TOTAL) == before


def test_one_query_that_cannot_be_computed_does_not_keep_the_others_from_being_answered(tmp_path: Path) -> None:
    archive = fed(tmp_path)
    bad = query_of("bad", 'select = "cast(max(k) as integer) as n"\nwindow = "1m"')
    with pytest.raises(InvalidInput, match="query bad cannot be answered"):
        refresh(archive.job, [bad, TOTAL])
    assert answers(archive, TOTAL), "of one tree, and yet"
    assert not answers(archive, bad)
