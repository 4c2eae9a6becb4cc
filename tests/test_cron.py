"""Schedules: which texts are possible, and which presets hold whole slots."""

import pytest

from tidewheel.indexing.cron import checked_cron, fitting_cron, preset_misfit
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.slots import TimeAxis

MINUTE = 60_000_000
HOUR, DAY = 60 * MINUTE, 24 * 60 * MINUTE


@pytest.mark.parametrize("text", ["*/5 * * * *", "0 0 * * 4", "0,30 6-18/2 1 jan-mar MON", "@hourly", "59 23 31 12 7"])
def test_possible_schedules(text: str) -> None:
    assert checked_cron(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "@once",
        "@continuous",
        "* * * * * *",
        "a * * * *",
        "5-1 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "*/ * * * *",
    ],
)
def test_impossible_schedules(text: str) -> None:
    with pytest.raises(InvalidInput):
        checked_cron(text)


def test_presets_fit_slots_from_an_epoch() -> None:
    sunday_us = 3 * DAY

    assert preset_misfit("@weekly", TimeAxis(7 * DAY, sunday_us)) == ""
    assert fitting_cron(TimeAxis(7 * DAY, sunday_us)) == "@weekly"
    assert preset_misfit("@weekly", TimeAxis(7 * DAY)) != ""
    assert preset_misfit("@hourly", TimeAxis(HOUR, 30 * MINUTE)) != ""
    assert preset_misfit("5 4 * * *", TimeAxis(HOUR)) == ""


@pytest.mark.parametrize(
    ("interval", "epoch", "text"),
    [
        (15 * MINUTE, 5 * MINUTE, "5 * * * *"),
        (HOUR, 90 * MINUTE, "30 * * * *"),
        (2 * HOUR, 3 * HOUR, "0 1 * * *"),
        (8 * HOUR, -HOUR, "0 7 * * *"),
        (DAY, 9 * HOUR + MINUTE, "1 9 * * *"),
        (7 * DAY, 4 * DAY + 61 * MINUTE, "1 1 * * 1"),
        (7 * DAY, 0, "0 0 * * 4"),
    ],
)
def test_an_epoch_that_no_preset_fits_has_a_schedule_that_does(interval: int, epoch: int, text: str) -> None:
    assert fitting_cron(TimeAxis(interval, epoch)) == text
    assert checked_cron(text) == text


def test_a_slot_that_starts_within_a_minute_has_no_schedule() -> None:
    assert fitting_cron(TimeAxis(HOUR, 30_000_000)) == ""
