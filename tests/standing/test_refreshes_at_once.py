"""Refreshes that run into each other: whoever is done last, the answers are those of the newest records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support.archives.local_archive import LocalArchive
from tests.support.archives.refreshed_archive import ALIVE, BY_KEY, TOTAL, answers, audit_is_clean, event
from tidewheel.commits import attempt
from tidewheel.commits.operations.undo import undo
from tidewheel.local.derived import follow_undo
from tidewheel.local.standing import refresh as module
from tidewheel.local.standing.refresh import Refresh

QUERIES = [TOTAL, BY_KEY, ALIVE]
# Where a refresh is held up, and whether what happens there is done by then.
PLACES = ("reader_of", "stale_now", "put", "reflections", "corrected", "reach")


def held_up(
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    meanwhile: Callable[[], object],
    *,
    behind: bool = False,
    where: ModuleType = module,
) -> None:
    """Let something happen in the middle of the next refresh, once."""
    real, left = getattr(where, place), [meanwhile]

    def slow(*given: Any, **named: Any) -> Any:
        happens = left.pop() if left else lambda: None
        if not behind:
            happens()
        done = real(*given, **named)
        if behind:
            happens()
        return done

    monkeypatch.setattr(where, place, slow)


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("place", PLACES)
def test_an_older_refresh_leaves_nothing_that_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, behind: bool
) -> None:
    archive = LocalArchive(tmp_path).create()
    archive.update({slot: [event(slot, 1)] for slot in range(3)})
    Refresh(archive.job, QUERIES).run()
    archive.update({1: [event(1, 10)]})

    def meanwhile() -> None:
        archive.update({1: [event(1, 100)], 2: [event(2, 100)], 3: [event(3, 1000)]})
        Refresh(archive.job, QUERIES).run()

    held_up(monkeypatch, place, meanwhile, behind=behind)
    Refresh(archive.job, QUERIES).run()
    assert totals(archive) == [1, 101, 201, 1200]


def totals(archive: LocalArchive) -> list[int]:
    """Of the answers that are there, with nothing left to do."""
    rest = Refresh(archive.job, QUERIES).compare()
    assert (rest.stale, rest.due) == ((), ())
    assert audit_is_clean(archive)
    found = answers(archive, TOTAL, minutes=True)
    return [found[at]["total"] for at in sorted(found)]


@pytest.mark.parametrize("comes_again", [False, True])
@pytest.mark.parametrize(("where", "place"), [(follow_undo, "undo"), (attempt, "reach")])
def test_two_that_follow_an_undo_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: ModuleType, place: str, comes_again: bool
) -> None:
    archive = LocalArchive(tmp_path).create()
    archive.update({slot: [event(slot, 1)] for slot in range(3)})
    Refresh(archive.job, QUERIES).run()
    archive.update({3: [event(3, 10)]})
    Refresh(archive.job, QUERIES).run()
    undo(archive.job)

    def meanwhile() -> None:
        if comes_again:
            archive.update({3: [event(3, 100)]})
        Refresh(archive.job, QUERIES).run()

    held_up(monkeypatch, place, meanwhile, where=where)
    Refresh(archive.job, QUERIES).run()
    assert totals(archive) == [1, 2, 3, *([102] if comes_again else [])]


def test_an_undo_that_another_refresh_followed_since(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the slot that left with it nothing is brought: what does not move the watermark along would be damage."""
    archive = LocalArchive(tmp_path).create()
    archive.update({slot: [event(slot, 1)] for slot in range(3)})
    Refresh(archive.job, QUERIES).run()
    archive.update({3: [event(3, 10)]})
    Refresh(archive.job, QUERIES).run()
    held_up(monkeypatch, "KnownVersions", lambda: undo(archive.job))
    held_up(monkeypatch, "put", Refresh(archive.job, QUERIES).run)
    Refresh(archive.job, QUERIES).run()
    assert totals(archive) == [1, 2, 3]
