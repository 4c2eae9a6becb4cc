"""Slots and ranges, exhaustively around the epoch."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidewheel.indexing.core.slots import (
    INTERVAL_MAX_US,
    TimeAxis,
    gaps_of,
    has_slot,
    iso,
    merged_ranges,
    micros,
    moment,
    range_members,
    ranges_of,
    with_slots,
)
from tidewheel.indexing.errors import InvalidInput

AXES = [TimeAxis(interval, epoch) for interval, epoch in product(range(1, 5), range(-3, 4))]
TIMES = range(-25, 26)
closed_ranges = st.lists(st.tuples(st.integers(-30, 30), st.integers(0, 8)).map(lambda pair: (pair[0], sum(pair))))


@pytest.mark.parametrize("axis", AXES, ids=str)
def test_a_slot_is_half_open_and_slots_tile_the_axis(axis: TimeAxis) -> None:
    for at in TIMES:
        slot = axis.slot_of(at)
        assert axis.start_us(slot) <= at < axis.end_us(slot)
        assert axis.end_us(slot) == axis.start_us(slot + 1)


@pytest.mark.parametrize("axis", AXES, ids=str)
def test_the_expiration_slot_is_the_first_update_that_comes_no_earlier_than_the_expiry(
    axis: TimeAxis,
) -> None:
    for valid_until in TIMES:
        slot = axis.expiration_slot_of(valid_until)
        assert axis.end_us(slot - 1) < valid_until <= axis.end_us(slot)


@pytest.mark.parametrize("axis", AXES, ids=str)
def test_a_lifetime_within_the_span_expires_from_its_own_slot_to_a_span_later(axis: TimeAxis) -> None:
    for lifetime, inserted in product(range(1, 13), range(-10, 11)):
        slot = axis.slot_of(inserted)
        assert slot <= axis.expiration_slot_of(inserted + lifetime) <= slot + axis.span(lifetime)


def test_the_span_is_rounded_up_and_at_least_one() -> None:
    axis = TimeAxis(interval_us=10)
    assert [axis.span(lifetime) for lifetime in (1, 9, 10, 11, 20, 21)] == [1, 1, 1, 2, 2, 3]


def test_slots_between_takes_whole_slots_only() -> None:
    axis = TimeAxis(interval_us=10, epoch_us=3)
    assert list(axis.slots_between(-17, 13)) == [-2, -1, 0]
    with pytest.raises(InvalidInput, match="not a slot boundary") as refused:
        axis.slots_between(3, 14)
    assert iso(13) in refused.value.remedy
    assert iso(23) in refused.value.remedy
    with pytest.raises(InvalidInput, match="empty"):
        axis.slots_between(13, 13)


@pytest.mark.parametrize("interval_us", [0, -1, INTERVAL_MAX_US + 1])
def test_an_interval_is_above_zero_and_up_to_seven_days(interval_us: int) -> None:
    with pytest.raises(InvalidInput, match="not possible"):
        TimeAxis(interval_us)


def test_a_naive_datetime_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no time zone"):
        micros(datetime(2026, 1, 1))


def test_a_moment_is_the_same_in_every_zone() -> None:
    east = datetime(2026, 1, 1, 5, tzinfo=timezone(timedelta(hours=5)))
    assert micros(east) == micros(datetime(2026, 1, 1, tzinfo=UTC))


@given(st.integers(-6 * 10**16, 2 * 10**17))
def test_microseconds_survive_the_way_through_datetime(at: int) -> None:
    assert micros(moment(at)) == at


def test_a_slot_is_named_by_its_start() -> None:
    axis = TimeAxis(interval_us=3600 * 10**6)
    assert axis.name(-1) == "1969-12-31T23:00:00Z"


@given(st.sets(st.integers(-30, 30)))
def test_ranges_hold_exactly_their_slots_and_are_as_few_as_possible(members: set[int]) -> None:
    ranges = ranges_of(members)
    assert set(range_members(ranges)) == members
    assert all(later[0] > earlier[1] + 1 for earlier, later in pairwise(ranges))


@given(closed_ranges)
def test_merging_ranges_is_the_union(ranges: list[tuple[int, int]]) -> None:
    assert merged_ranges(ranges) == ranges_of(range_members(ranges))


@given(closed_ranges, st.lists(st.integers(-35, 45)))
def test_slots_that_come_to_ranges_are_in_their_union(ranges: list[tuple[int, int]], more: list[int]) -> None:
    members = {*range_members(ranges), *more}
    assert with_slots(merged_ranges(ranges), more) == ranges_of(members)


@given(closed_ranges, st.integers(-35, 45))
def test_ranges_are_asked_for_a_slot(ranges: list[tuple[int, int]], slot: int) -> None:
    assert has_slot(merged_ranges(ranges), slot) == (slot in set(range_members(ranges)))


@given(closed_ranges, st.integers(-35, 45))
def test_gaps_are_what_is_missing_from_the_first_slot_on(ranges: list[tuple[int, int]], through: int) -> None:
    present = set(range_members(ranges))
    bound = max([through, *present]) if present else through
    missing = {slot for slot in range(min(present, default=0), bound + 1) if slot not in present}
    assert set(range_members(gaps_of(ranges, through))) == (missing if present else set())
