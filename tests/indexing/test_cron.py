"""Schedules: which texts are possible, and which presets hold whole slots."""

import pytest

from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.schedule.cron import checked_cron, fitting_cron, preset_misfit
from tidewheel.indexing.schedule.cron_runs import cron_misfit

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


@pytest.mark.parametrize(
    ("text", "interval", "epoch", "start"),
    [
        ("*/5 * * * *", HOUR, 0, "00:05"),
        ("5 4 * * *", HOUR, 0, "04:05"),
        ("0 0 * * 1", 7 * DAY, 0, "1970-01-05"),
        ("0 0 */2 * *", 2 * DAY, 0, "1970-02-01"),
        ("0 */5 * * *", 5 * HOUR, 0, "1970-01-02T00:00"),
        ("0 0 1 * 4", 7 * DAY, 0, "1970-02-01"),  # the first of the month, and every Thursday
        ("30 * * * *", HOUR, 0, "00:30"),
        ("@hourly", 2 * HOUR, 0, "whole slots"),
    ],
)
def test_runs_that_do_not_hold_whole_slots(text: str, interval: int, epoch: int, start: str) -> None:
    assert start in cron_misfit(text, TimeAxis(interval, epoch))


@pytest.mark.parametrize(
    ("text", "interval", "epoch"),
    [
        ("*/5 * * * *", 5 * MINUTE, 0),
        ("*/10 6-18 * jan-mar mon-fri", 5 * MINUTE, 0),
        ("* * * * *", 30_000_000, 0),
        ("0 0 * * 4", 7_000_000, 0),
        ("0 0 * * 4", 7 * DAY, 0),
        ("0 0 * * 7", 7 * DAY, 3 * DAY),
        ("30 * * * *", HOUR, 30 * MINUTE),
        ("0 0,12 1 1 *", 12 * HOUR, 0),
        ("@daily", HOUR, 0),
        ("@never", HOUR, 0),
    ],
)
def test_runs_that_hold_whole_slots(text: str, interval: int, epoch: int) -> None:
    assert cron_misfit(text, TimeAxis(interval, epoch)) == ""


@pytest.mark.parametrize("interval", [MINUTE, 7 * MINUTE, HOUR, 5 * HOUR, 8 * HOUR, DAY, 36 * HOUR, 7 * DAY])
@pytest.mark.parametrize("epoch", [0, 61 * MINUTE, 4 * DAY])
def test_what_is_proposed_fits(interval: int, epoch: int) -> None:
    axis = TimeAxis(interval, epoch)
    if proposed := fitting_cron(axis):
        assert cron_misfit(proposed, axis) == ""
