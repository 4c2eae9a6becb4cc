"""Answers older than `revise` stay as they were given, also in a slot of which others are still corrected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.archives.local_archive import MINUTE_US, Event, LocalArchive
from tests.support.archives.refreshed_archive import answers, audit_is_clean, query_of, refresh
from tidewheel.commits.operations.forget import forget

HALF = 30_000_000
BODY = 'group_by = ["k"]\nwindow = "90s"\nslide = "30s"\nrevise = "135s"\nkeep = "1h"'
BY_KEY = query_of("by_key", f'select = "count(*) as n"\n{BODY}')


def batch(slot: int) -> list[Event]:
    """Four records of a slot, two in each half of it, which live long."""
    starts = (slot * MINUTE_US + 1, slot * MINUTE_US + HALF + 1)
    return [Event(k, 1, at_us, at_us + 20 * MINUTE_US) for at_us in starts for k in ("a", "b")]


def archive_with(folder: Path, slots: int) -> LocalArchive:
    archive = LocalArchive(folder, span=30).create()
    for slot in range(slots):
        archive.update({slot: batch(slot)})
        refresh(archive.job, [BY_KEY])
    return archive


def told(archive: LocalArchive) -> dict[tuple[Any, ...], tuple[int, float, int]]:
    return {key: (one["n"], one["complete"], one["revision"]) for key, one in answers(archive, BY_KEY).items()}


def test_a_replay_corrects_the_young_half_of_a_slot_alone(tmp_path: Path) -> None:
    """At 10:00 those from 7:45 on are corrected: of the slot that ends at 8:00 one of two."""
    archive = archive_with(tmp_path, 10)
    before = told(archive)
    archive.update({7: batch(7)[:1] + batch(7)[2:3]})
    refresh(archive.job, [BY_KEY])
    after = told(archive)
    young_us = 10 * MINUTE_US - 135_000_000
    assert {key: one for key, one in after.items() if key[0] < young_us} == {
        key: one for key, one in before.items() if key[0] < young_us
    }
    assert after[8 * MINUTE_US - HALF, "b"] == (4, 1, 0)
    assert before[8 * MINUTE_US, "b"] == (2, 1, 0)
    assert (8 * MINUTE_US, "b") not in after
    assert after[9 * MINUTE_US - HALF, "b"] == (2, 1, 1)
    assert audit_is_clean(archive)


def test_forgotten_keys_leave_settled_answers_all_the_same(tmp_path: Path) -> None:
    archive = archive_with(tmp_path, 10)
    forget(archive.job, keys=[("b",)])
    refresh(archive.job, [BY_KEY])
    after = told(archive)
    assert {key[1] for key in after} == {"a"}
    assert len(after) > 10
    assert audit_is_clean(archive)
