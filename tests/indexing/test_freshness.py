"""How old the newest batch may get, and which late archives catch up."""

from __future__ import annotations

import pytest

from tests.support.archives.situations import FILE
from tidewheel.indexing.archive_file.read import parse_archive_file
from tidewheel.indexing.core.definition import ArchiveFile
from tidewheel.indexing.rules.freshness import Landing, age_bound_us, freshness_of, is_catching_up

HOUR_US, DAY_US = 3_600_000_000, 86_400_000_000
MONDAY_US = 4 * DAY_US  # the epoch was a Thursday


def file_of(cron: str = "@hourly", schedule: str = "", clock: str = "wall") -> ArchiveFile:
    text = FILE.format(name="m", path="../m", vacuum_period="1h", schedule=schedule, minute=0)
    text = text.replace('"0 * * * *"', f'"{cron}"').replace("[time]", f'clock = "{clock}"\n[time]')
    return parse_archive_file(text, "m.toml")


@pytest.mark.parametrize(
    ("cron", "schedule", "clock", "hours"),
    [
        ("@hourly", 'freshness = "2h"', "wall", 2),
        ("@hourly", "", "wall", 3),
        ("0 */6 * * *", "", "wall", 18),
        ("0 8 * * 1-5", "", "wall", 56),  # from Monday midnight on: Monday, Tuesday, Wednesday at 8
        ("@hourly", 'freshness = "0s"', "wall", None),
        ("@never", 'freshness = "2h"', "wall", None),
        ("@never", "", "wall", None),
        ("@hourly", "", "data", None),
        ("@hourly", 'freshness = "2h"', "data", 2),
        # Between two runs a batch gets as old as a run is long; then the next one has its time.
        ("@daily", 'freshness = "2h"', "wall", 26),
        ("@hourly", 'freshness = "10m"\ncatchup = false', "wall", 1 + 1 / 6),
    ],
)
def test_how_old_a_batch_may_get(cron: str, schedule: str, clock: str, hours: float | None) -> None:
    bound = age_bound_us(file_of(cron, schedule, clock), MONDAY_US)
    assert bound == (None if hours is None else round(hours * HOUR_US))


def test_a_weekend_without_runs_makes_nobody_late() -> None:
    file = file_of("0 8 * * 1-5", 'freshness = "4h"')
    friday_us = MONDAY_US + 4 * DAY_US + 8 * HOUR_US
    late_at_us = friday_us + 3 * DAY_US + 4 * HOUR_US
    assert not freshness_of(file, friday_us, 0, late_at_us).is_late
    assert freshness_of(file, friday_us, 0, late_at_us + 1).is_late


def test_an_archive_that_waits_for_its_first_batch_is_late_too() -> None:
    file = file_of(schedule='freshness = "2h"')
    assert not freshness_of(file, None, MONDAY_US, MONDAY_US + 2 * HOUR_US).is_late
    assert freshness_of(file, None, MONDAY_US, MONDAY_US + 3 * HOUR_US).is_late
    later = file_of(schedule='freshness = "2h"\nstart = 1970-01-05T12:00:00Z')
    assert not freshness_of(later, None, MONDAY_US, MONDAY_US + 13 * HOUR_US).is_late


def landings(*delays: float, every: float = 1) -> list[Landing]:
    """One commit after another, the last at 0, each so many hours after the end of its newest slot."""
    at = [(number - len(delays) + 1) * every * HOUR_US for number in range(len(delays))]
    return [Landing(round(us), round(us - delay * HOUR_US)) for us, delay in zip(at, delays, strict=True)]


@pytest.mark.parametrize(
    ("came", "since", "expected"),
    [
        (landings(30, 29, 28, every=0.1), 0, True),
        (landings(30), 1, True),  # a new archive whose start lies back
        (landings(30), 3, False),
        (landings(5, 5, 5, 5), 0, False),  # always equally late
        (landings(1, 1, 5), 0, False),  # the first one after an outage
        (landings(1, 1, 5, 4, every=0.1), 0, True),
        (landings(30, 29, 28, every=0.1), 3, False),  # nothing came for three hours
        ([], 0, False),
    ],
)
def test_who_catches_up(came: list[Landing], since: float, expected: bool) -> None:
    assert is_catching_up(came, HOUR_US, 2 * HOUR_US, round(since * HOUR_US)) is expected
