"""Time passes without data too: answers follow an expire, and a moment whose answer is not kept is not made up."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tests.support.archives.local_archive import MINUTE_US, LocalArchive
from tests.support.archives.refreshed_archive import ALIVE, TOTAL, answers, audit_is_clean, event, query_of, refresh
from tidewheel.commits.operations.expire import expire
from tidewheel.indexing.core.definition import Clock
from tidewheel.indexing.core.guards import Confirmations
from tidewheel.indexing.errors import InvalidInput
from tidewheel.local.standing.ask import ask
from tidewheel.local.standing.explain import standing
from tidewheel.local.standing.outcome import Refreshed
from tidewheel.local.standing.refresh import guard_refresh
from tidewheel.queries.standing.query import Query

FAR = Confirmations(allow_future=True, allow_jump=True)
LIVE = 'select = "count(*) as n"\nwindow = "live"\nslide = "1m"'
SHORT = query_of("short", f'{LIVE}\nrevise = "1m"\nkeep = "3m"')
BY_KEY = query_of("alive_by_key", f'{LIVE}\ngroup_by = ["k"]\nrevise = "5m"\nkeep = "1h"')


def fed(folder: Path, queries: list[Query], clock: Clock = Clock.DATA) -> LocalArchive:
    """Six slots of a record each, which lives for four; at the end of the last."""
    archive = LocalArchive(folder, clock=clock, now_us=6 * MINUTE_US).create()
    archive.update({slot: [event(slot, slot + 1)] for slot in range(6)})
    refresh(archive.job, queries)
    return archive


def behind(archive: LocalArchive, query: Query) -> int | None:
    (told,) = standing(archive.job, [query], archive.axis)
    return None if told.lag_us is None else told.lag_us // MINUTE_US


@pytest.mark.parametrize("clock", list(Clock))
def test_answers_follow_an_expire(clock: Clock, tmp_path: Path) -> None:
    queries = [TOTAL, ALIVE]
    archive = fed(tmp_path, queries, clock)
    assert (behind(archive, ALIVE), behind(archive, TOTAL)) == (0, 0)
    archive.now_us = 8 * MINUTE_US
    expire(archive.job, 7, confirmed=FAR)
    assert (behind(archive, ALIVE), behind(archive, TOTAL)) == (2, 2)
    refresh(archive.job, queries)
    assert (behind(archive, ALIVE), behind(archive, TOTAL)) == (0, 0)
    alive = {at: one["n"] for (at,), one in answers(archive, ALIVE, minutes=True).items()}
    assert {at: alive[at] for at in (6, 7, 8)} == {6: 4, 7: 3, 8: 2}
    totals = answers(archive, TOTAL, minutes=True)
    assert {at: (totals[at,]["total"], totals[at,]["complete"]) for at in (6, 7, 8)} == {
        6: (15, 1.0), 7: (11, pytest.approx(2 / 3)), 8: (6, pytest.approx(1 / 3)),
    }  # fmt: skip
    assert refresh(archive.job, queries) == Refreshed((), ())
    assert audit_is_clean(archive)


def test_a_batch_after_the_expire_corrects_what_was_given(tmp_path: Path) -> None:
    archive = fed(tmp_path, [TOTAL])
    expire(archive.job, 7, confirmed=FAR)
    refresh(archive.job, [TOTAL])
    archive.update({6: [event(6, 100)], 7: [event(7, 1000)]})
    refresh(archive.job, [TOTAL])
    found = answers(archive, TOTAL, minutes=True)
    assert (found[8,]["total"], found[8,]["complete"], found[8,]["revision"]) == (1106, 1.0, 1)


@pytest.mark.parametrize("slot", [9, 20, 2_000_000])
def test_an_expire_far_behind_the_data_gives_what_its_windows_hold_and_no_more(slot: int, tmp_path: Path) -> None:
    """Nobody is asked to confirm a million answers of nothing, and no query stays behind for want of data."""
    archive = fed(tmp_path, [TOTAL])
    expire(archive.job, slot, confirmed=FAR)
    guard_refresh(archive.job, [TOTAL], allow_many=False)
    refresh(archive.job, [TOTAL])
    assert behind(archive, TOTAL) == 0
    assert refresh(archive.job, [TOTAL]) == Refreshed((), ())


def asked(archive: LocalArchive, query: Query, minute: int) -> pa.Table:
    return ask(archive.job, query, minute * MINUTE_US, None, None)


@pytest.mark.parametrize("minute", [-400, 0, 1, 3])
def test_a_moment_whose_answer_is_not_kept_is_refused(minute: int, tmp_path: Path) -> None:
    """Of partials only what younger answers need is left."""
    archive = fed(tmp_path, [SHORT])
    with pytest.raises(InvalidInput, match="no such answer is kept: query short has none of"):
        asked(archive, SHORT, minute)
    assert asked(archive, SHORT, 6).column("n").to_pylist() == [4]


def test_a_moment_that_passed_since_the_last_refresh_is_not_made_up(tmp_path: Path) -> None:
    archive = fed(tmp_path, [ALIVE])
    expire(archive.job, 7, confirmed=FAR)
    with pytest.raises(InvalidInput) as refused:
        asked(archive, ALIVE, 8)
    assert "tidewheel refresh" in refused.value.remedy
    refresh(archive.job, [ALIVE])
    assert asked(archive, ALIVE, 8).column("n").to_pylist() == [2]


def test_a_moment_to_come_says_its_real_share(tmp_path: Path) -> None:
    archive = fed(tmp_path, [ALIVE, TOTAL])
    (row,) = asked(archive, ALIVE, 8).to_pylist()
    # Of the six slots that may be alive then, two are still to come.
    assert (row["n"], row["complete"]) == (2, pytest.approx(4 / 6))
    with pytest.raises(InvalidInput, match=r"query total has no answer at .* yet"):
        asked(archive, TOTAL, 8)


def test_an_answer_without_a_group_is_kept_and_empty(tmp_path: Path) -> None:
    archive = fed(tmp_path, [BY_KEY])
    expire(archive.job, 9, confirmed=FAR)
    refresh(archive.job, [BY_KEY])
    assert asked(archive, BY_KEY, 9).column("n").to_pylist() == [1]
    assert asked(archive, BY_KEY, 10).num_rows == 0
