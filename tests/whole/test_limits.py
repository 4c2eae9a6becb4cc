"""The ends of what is possible, without Spark: moments, intervals, lifetimes, clocks."""

from __future__ import annotations

import calendar
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from tests.support.models.model_table import ModelTable, definition_of
from tidewheel.indexing.archive_file.source_paths import path_for_slot
from tidewheel.indexing.core.definition import Clock, Retention
from tidewheel.indexing.core.guards import guard_watermark
from tidewheel.indexing.core.layouts import Generation, Layout, LayoutKind, Strategy
from tidewheel.indexing.core.oracle import Oracle, Record
from tidewheel.indexing.core.slots import INTERVAL_MAX_US, MICROS_PER_SECOND, TimeAxis, iso, micros, moment
from tidewheel.indexing.errors import InvalidInput, Refused
from tidewheel.indexing.rules.deadline import deadline_of
from tidewheel.moments import moment_us

FIRST_US = micros(datetime(1, 1, 1, tzinfo=UTC))
LAST_US = micros(datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC))
# The whole range of 64-bit microseconds, which Spark and Parquet can hold.
INT64 = 2**63
INTERVALS = (MICROS_PER_SECOND, 7 * MICROS_PER_SECOND, 3600 * MICROS_PER_SECOND, INTERVAL_MAX_US)
SPANS = (1, 2, 10_000)


@pytest.mark.parametrize("at_us", [FIRST_US - 1, LAST_US + 1, -INT64, INT64 - 1])
def test_a_moment_that_no_calendar_date_can_say_is_refused_and_still_has_a_name(at_us: int) -> None:
    with pytest.raises(InvalidInput, match="outside the years 1 to 9999"):
        moment(at_us)
    assert iso(at_us)[0] in "+-"


def test_names_go_on_beyond_the_calendar() -> None:
    assert [iso(at) for at in (FIRST_US, LAST_US)] == ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"]
    # What Java calls the last instant that 64-bit microseconds can hold.
    assert iso(INT64 - 1) == "+294247-01-10T04:00:54.775807Z"
    assert iso(-INT64) == "-290308-12-21T19:59:05.224192Z"
    assert (iso(LAST_US + 1), iso(FIRST_US - 1)) == ("+10000-01-01T00:00:00Z", "+0000-12-31T23:59:59.999999Z")


def test_every_leap_day_has_its_slot() -> None:
    days = TimeAxis(24 * 3600 * MICROS_PER_SECOND)
    tried = 0
    for year in range(1, 10_000):
        after_february = micros(datetime(year, 3, 1, tzinfo=UTC))
        last = "29" if calendar.isleap(year) else "28"
        assert days.name(days.slot_of(after_february) - 1) == f"{year:04}-02-{last}T00:00:00Z"
        tried += 1
    assert tried == 9999


@pytest.mark.parametrize("text", ["2023-02-29", "1900-02-29", "2026-11-31", "0000-01-01", "10000-01-01", "2026-1-1"])
def test_a_day_that_does_not_exist_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="not a moment"):
        moment_us(text)


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("0001-01-01T00:00+14:00", FIRST_US - 14 * 3600 * MICROS_PER_SECOND),
        ("9999-12-31T23:59:59.999999-14:00", LAST_US + 14 * 3600 * MICROS_PER_SECOND),
    ],
)
def test_an_offset_may_lead_out_of_the_calendar(text: str, us: int) -> None:
    assert moment_us(text) == us
    assert iso(us)[0] in "+-"


@pytest.mark.parametrize("interval_us", INTERVALS)
def test_slots_at_random_moments_of_ten_thousand_years(interval_us: int) -> None:
    seed = interval_us
    print("seed", seed)
    chance = random.Random(seed)
    axis = TimeAxis(interval_us, epoch_us=chance.randrange(-interval_us, interval_us))
    for _ in range(5_000):
        at_us = chance.randrange(FIRST_US + interval_us, LAST_US - interval_us)
        slot = axis.slot_of(at_us)
        assert axis.start_us(slot) <= at_us < axis.end_us(slot)
        assert axis.end_us(slot) == axis.start_us(slot + 1)
        assert axis.slot_of(moment_us(axis.name(slot))) == slot
        assert axis.expiration_slot_of(axis.end_us(slot)) == slot
        assert axis.expiration_slot_of(axis.end_us(slot) + 1) == slot + 1


def test_a_slot_at_the_end_of_the_calendar_is_refused_in_words() -> None:
    axis = TimeAxis(INTERVAL_MAX_US)
    last = axis.slot_of(LAST_US)
    with pytest.raises(InvalidInput, match="outside the years"):
        path_for_slot("in/{end:%Y}", axis.start_us(last), axis.end_us(last), last)
    with pytest.raises(InvalidInput, match="not a slot boundary"):
        axis.slots_between(FIRST_US + 1, LAST_US)
    assert path_for_slot("in/{slot}", axis.start_us(last), axis.end_us(last), last) == f"in/{last}"


# Lifetimes of one slot and of ten thousand, near and far.


@pytest.mark.parametrize("first", [-(10**12), -10_001, 0, 10**12])
@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("strategy", Strategy)
def test_a_history_of_any_span_anywhere_equals_the_oracle(strategy: Strategy, span: int, first: int) -> None:
    seed = first + span
    chance = random.Random(seed)
    kind = chance.choice([LayoutKind.ROUND_ROBIN, LayoutKind.CHRONOLOGICAL, LayoutKind.RANDOMIZED])
    generation = Generation(0, Layout(kind, min(2, span), min(4, span), span), strategy, runs_max=5)
    table, oracle = ModelTable(definition_of(generation, span)), Oracle()
    slot = first
    for number in range(30):
        lives = [0, 1, span, chance.randint(0, span)]
        batches = {slot: [Record(slot, slot + life, chance.randrange(5), (number, life)) for life in lives]}
        table.update(batches)
        oracle.update(batches)
        assert Counter(table.content()) == Counter(oracle.content()), f"seed {seed}"
        slot += chance.choice([1, 1, -2, span, span + 1, -span])
    table.update({}, expire_through=max(oracle.batches) + span)
    assert table.content() == []


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("interval_us", INTERVALS)
def test_a_deadline_of_any_archive_has_a_name(interval_us: int, span: int) -> None:
    generation = Generation(0, Layout(LayoutKind.ROUND_ROBIN, 1, 1, span), Strategy.NO_REBUILD, dead_share_max=1.0)
    definition = replace(
        definition_of(generation, span),
        axis=TimeAxis(interval_us),
        clock=Clock.WALL,
        retention=Retention(*[10 * INTERVAL_MAX_US] * 4),
    )
    for now_us in (FIRST_US, 0, LAST_US):
        deadline = deadline_of(definition, [generation], now_us)
        assert deadline.gone_us > now_us
        assert deadline.to_json()["gone"]


# Clocks that jump.


def wall_table() -> ModelTable:
    generation = Generation(0, Layout(LayoutKind.ROUND_ROBIN, 1, 2, 4), Strategy.EXPIRE_REBUILD)
    definition = replace(definition_of(generation, 4), clock=Clock.WALL, axis=TimeAxis(60 * MICROS_PER_SECOND))
    table = ModelTable(definition)
    table.update({10: [Record(10, 12, "a")]})
    return table


@pytest.mark.parametrize("years", [1, 30, 5000])
def test_a_clock_that_went_back_lets_no_future_slot_in(years: int) -> None:
    table = wall_table()
    now_us = table.definition.axis.end_us(11)
    guard_watermark(table.state(), 11, now_us)
    with pytest.raises(Refused, match="in the future"):
        guard_watermark(table.state(), 11, now_us - years * 366 * 86_400 * MICROS_PER_SECOND)
    # What is applied already stays so: a replay moves no watermark.
    guard_watermark(table.state(), 10, FIRST_US - years * MICROS_PER_SECOND)


def test_a_clock_that_went_ahead_moves_no_watermark_by_itself() -> None:
    """Slots are named by who calls; a clock ahead only lets through what it believes to be over."""
    table = wall_table()
    guard_watermark(table.state(), 11, LAST_US + 10**15)
    assert table.watermark == 10


SHIFTS: dict[str, Callable[[datetime], datetime]] = {
    "to summer time": lambda at: at + timedelta(hours=1),
    "to winter time": lambda at: at - timedelta(hours=1),
    "to 1970": lambda at: datetime(1970, 1, 1, tzinfo=UTC),
    "to 2038": lambda at: datetime(2038, 1, 19, 3, 14, 8, tzinfo=UTC),
    "to the last day": lambda at: datetime.combine(date(9999, 12, 31), at.timetz()),
}


@pytest.mark.parametrize("shift", SHIFTS)
def test_the_deadline_follows_the_clock_it_is_given(shift: str) -> None:
    table = wall_table()
    at = SHIFTS[shift](datetime(2026, 11, 18, 12, 30, tzinfo=UTC))
    deadline = deadline_of(table.definition, table.definition.generations, micros(at))
    assert deadline.from_us == micros(at)
    assert deadline.data_gone_us - deadline.from_us <= 2 * table.definition.axis.interval_us + 2
