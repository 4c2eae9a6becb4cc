"""What was alive and what will be, beside the oracle's."""

from __future__ import annotations

from pathlib import Path

import tidewheel
from tests.support.archives.local_archive import MINUTE_US, Event, LocalArchive

SPAN = 6


def test_the_course_is_what_was_there_and_what_will_be_left(tmp_path: Path) -> None:
    archive = LocalArchive(tmp_path, SPAN).create()
    opened = tidewheel.open(archive.job.location.uri)
    assert opened.course().to_json() == {"past": [], "ahead": []}
    counted = {}
    for slot in (0, 1, 2, 1, 5):
        at_us = slot * MINUTE_US
        events = [Event(f"k{n}", slot, at_us + 5, at_us + (n % SPAN + 1) * MINUTE_US) for n in range(10 + slot)]
        archive.update({slot: events})
        snapshot = archive.job.snapshot()
        assert snapshot.watermark is not None
        counted[archive.axis.end_us(snapshot.watermark)] = opened.status().rows_live
    opened.forget([("k3",)])
    counted[archive.axis.end_us(5)] = opened.status().rows_live
    course = opened.course()
    assert dict(course.past) == counted
    assert dict(opened.course(last=2).past).items() <= counted.items()
    for at_us, rows in course.ahead.items():
        assert rows == opened.sql(f"select count(*) from live where epoch_us(valid_until) > {at_us}").rows()[0][0]
    assert next(iter(course.ahead)) == list(course.past)[-1]
    assert list(course.ahead.values())[-1] == 0


def test_a_life_without_end_is_not_followed_to_its_end(tmp_path: Path) -> None:
    archive = LocalArchive(tmp_path, 1000).create()
    archive.update({0: [Event("a", 1, 5, 999 * MINUTE_US)]})
    ahead = tidewheel.open(archive.job.location.uri).course().ahead
    assert len(ahead) == 401
    assert set(ahead.values()) == {1}
