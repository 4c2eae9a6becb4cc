"""Refreshes that die, two at once, a key that must be gone to the last byte, and queries that make no sense."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.archives.byte_search import holders
from tests.support.archives.local_archive import LocalArchive
from tests.support.archives.refreshed_archive import (
    ALIVE,
    BY_KEY,
    TOTAL,
    answers,
    audit_is_clean,
    event,
    query_of,
    refresh,
)
from tidewheel.commits.fail_points import VARIABLE, FailPointReached
from tidewheel.commits.operations.forget import forget
from tidewheel.commits.vacuum.vacuum import vacuum
from tidewheel.indexing.errors import InvalidInput
from tidewheel.local.derived.neighbours import derived_job
from tidewheel.local.standing.outcome import Refreshed
from tidewheel.queries.standing.query import Query

QUERIES = [TOTAL, BY_KEY, ALIVE]


def fed(folder: Path, slots: int = 5) -> LocalArchive:
    archive = LocalArchive(folder).create()
    for slot in range(slots):
        archive.update({slot: [event(slot, slot + 1), event(slot, 7, "b")]})
    return archive


def all_answers(archive: LocalArchive) -> dict[str, Any]:
    return {query.name: answers(archive, query) for query in QUERIES}


def killed_everywhere(archive: LocalArchive, queries: list[Query], monkeypatch: pytest.MonkeyPatch) -> int:
    """Refresh, dying at every fail point before and after each commit; the number of deaths."""

    def dies(point: str) -> bool:
        with monkeypatch.context() as patch:
            patch.setenv(VARIABLE, point)
            try:
                refresh(archive.job, queries)
            except FailPointReached:
                return True
            return False

    deaths = 0
    while True:
        deaths += sum(dies(point) for point in ("planned", "files_written", "ready_to_commit"))
        # Each goes one commit further than the one before.
        if not dies("committed"):
            break
        deaths += 1
    return deaths + sum(dies(point) for point in ("partials_committed", "answers_committed"))


def test_a_refresh_that_dies_anywhere_is_finished_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At its first time, after a correction with a forget, and when a query changes."""
    whole, broken = fed(tmp_path / "whole"), fed(tmp_path / "broken")
    steps: list[tuple[list[Query], Callable[[LocalArchive], object]]] = [
        (QUERIES, lambda archive: None),
        (QUERIES, lambda archive: archive.update({2: [event(2, 50), event(2, 3, "gone")]})),
        (QUERIES, lambda archive: forget(archive.job, keys=[("b",)])),
        ([TOTAL, query_of("by_key", 'select = "min(v) as least"\ngroup_by = ["k"]\nwindow = "2m"\nrevise = "5m"')],
         lambda archive: archive.update({5: [event(5, 6)]})),
    ]  # fmt: skip
    for queries, act in steps:
        for one in (whole, broken):
            act(one)
        refresh(whole.job, queries)
        assert killed_everywhere(broken, queries, monkeypatch) >= 5
        again = refresh(broken.job, queries)
        assert (again.stale, again.due, again.answers_erased) == ((), (), 0)
        for query in queries:
            values = [{at: {name: row[name] for name in row if name != "revision"} for at, row in rows.items()}
                      for rows in (answers(whole, query), answers(broken, query))]  # fmt: skip
            assert values[0] == values[1], query.name
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
