"""Time on one axis: integer microseconds, half-open intervals, slots.

A slot k is the interval [epoch + k·Δ, epoch + (k+1)·Δ). Floor and modulo are the mathematical ones, which
Python's `//` and `%` are, so slots before the epoch need no special case.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tidewheel.indexing.errors import InvalidInput

MICROS_PER_SECOND = 1_000_000
INTERVAL_MAX_US = 7 * 24 * 3600 * MICROS_PER_SECOND
_UNIX = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_US = (datetime(1, 1, 1, tzinfo=UTC) - _UNIX) // timedelta(microseconds=1)
_YEARS_US = (datetime(9999, 12, 31, tzinfo=UTC) - _UNIX) // timedelta(microseconds=1) - _FIRST_US + 86_400 * 10**6
_CYCLE_US = 146_097 * 86_400 * 10**6


def micros(moment: datetime) -> int:
    """Return the moment as integer microseconds since 1970 UTC; refuse a naive datetime.

    >>> micros(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    1000000
    """
    if moment.tzinfo is None:
        raise InvalidInput(f"{moment.isoformat()} has no time zone", "add Z or an offset, for example Z for UTC")
    return (moment - _UNIX) // timedelta(microseconds=1)


def moment(micros_since_1970: int) -> datetime:
    """Return the inverse of `micros`; refuse what no calendar date can say.

    >>> moment(-1).isoformat()
    '1969-12-31T23:59:59.999999+00:00'
    """
    try:
        return _UNIX + timedelta(microseconds=micros_since_1970)
    except OverflowError:
        raise InvalidInput(
            f"{iso(micros_since_1970)} lies outside the years 1 to 9999", "choose a moment within them"
        ) from None


def iso(micros_since_1970: int) -> str:
    """Return microseconds as people and logs write them; beyond the years 1 to 9999 with a sign, as in ISO 8601.

    >>> iso(0), iso(10**18)
    ('1970-01-01T00:00:00Z', '+33658-09-27T01:46:40Z')
    """
    # The calendar repeats itself after 400 years, to the day.
    cycles = 0
    if not _FIRST_US <= micros_since_1970 < _FIRST_US + _YEARS_US:
        cycles = (micros_since_1970 - _FIRST_US) // _CYCLE_US
    at = _UNIX + timedelta(microseconds=micros_since_1970 - cycles * _CYCLE_US)
    text = at.isoformat().replace("+00:00", "Z")
    return f"{at.year + 400 * cycles:+05d}{text[4:]}" if cycles else text


@dataclass(frozen=True, order=True)
class TimeAxis:
    """The slots of one archive: an epoch and an interval Δ, both in microseconds.

    >>> axis = TimeAxis(interval_us=3600 * 10**6)
    >>> axis.slot_of(-1), axis.slot_of(0)
    (-1, 0)
    """

    interval_us: int
    epoch_us: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.interval_us <= INTERVAL_MAX_US:
            raise InvalidInput(
                f"an interval of {self.interval_us / MICROS_PER_SECOND:g} s is not possible",
                "choose a fixed duration above zero and up to 7 days (months have no fixed length)",
            )

    def slot_of(self, at_us: int) -> int:
        """Return the slot that contains a moment."""
        return (at_us - self.epoch_us) // self.interval_us

    def expiration_slot_of(self, valid_until_us: int) -> int:
        """Return the slot whose update must remove a record that is valid until then (exclusive)."""
        return -((self.epoch_us - valid_until_us) // self.interval_us) - 1

    def start_us(self, slot: int) -> int:
        return self.epoch_us + slot * self.interval_us

    def end_us(self, slot: int) -> int:
        """Return the first moment after the slot: when its update may run, and the earliest as-of after it."""
        return self.start_us(slot + 1)

    def slots_between(self, from_us: int, to_us: int) -> range:
        """Return the slots of [from, to); both ends must lie on slot boundaries."""
        for bound_us in (from_us, to_us):
            if (bound_us - self.epoch_us) % self.interval_us:
                below = self.start_us(self.slot_of(bound_us))
                raise InvalidInput(
                    f"{iso(bound_us)} is not a slot boundary",
                    f"use {iso(below)} or {iso(below + self.interval_us)}",
                )
        if to_us <= from_us:
            raise InvalidInput(f"the range {iso(from_us)} to {iso(to_us)} is empty", "give an end after the start")
        return range(self.slot_of(from_us), self.slot_of(to_us))

    def span(self, lifetime_us: int) -> int:
        """Return the span p of a maximum lifetime: how many slots a record may outlive its own, rounded up."""
        return max(1, -(-lifetime_us // self.interval_us))

    def name(self, slot: int) -> str:
        """Return a slot as people name it: the moment it starts."""
        return iso(self.start_us(slot))


def ranges_of(slots: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Slots as sorted closed ranges.

    >>> ranges_of([3, 1, 2, 7])
    ((1, 3), (7, 7))
    """
    ranges: list[tuple[int, int]] = []
    for slot in sorted(set(slots)):
        if ranges and ranges[-1][1] == slot - 1:
            ranges[-1] = (ranges[-1][0], slot)
        else:
            ranges.append((slot, slot))
    return tuple(ranges)


def merged_ranges(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Closed ranges sorted and joined where they meet or overlap.

    >>> merged_ranges([(5, 6), (1, 2), (3, 3)])
    ((1, 3), (5, 6))
    """
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)


def with_slots(ranges: tuple[tuple[int, int], ...], slots: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Return sorted ranges that do not meet, with some more slots. Cost: the ranges behind the first of these slots.

    >>> with_slots(((1, 3), (7, 7)), [8, 4])
    ((1, 4), (7, 8))
    """
    more = ranges_of(slots)
    if not more:
        return ranges
    at = max(0, bisect_left(ranges, more[0]) - 1)
    return (*ranges[:at], *merged_ranges((*ranges[at:], *more)))


def ranges_since(ranges: tuple[tuple[int, int], ...], slot: int) -> tuple[tuple[int, int], ...]:
    """Return the sorted ranges that reach a slot or lie behind it. Cost: a search.

    >>> ranges_since(((1, 3), (7, 7)), 3), ranges_since(((1, 3), (7, 7)), 4)
    (((1, 3), (7, 7)), ((7, 7),))
    """
    at = bisect_left(ranges, (slot,))
    return ranges[at - 1 if at and ranges[at - 1][1] >= slot else at :]


def has_slot(ranges: Sequence[tuple[int, int]], slot: int) -> bool:
    """Tell whether sorted ranges hold a slot. Cost: a search.

    >>> has_slot(((1, 3), (7, 7)), 3), has_slot(((1, 3), (7, 7)), 4)
    (True, False)
    """
    at = bisect_left(ranges, (slot + 1,))
    return at > 0 and slot <= ranges[at - 1][1]


def range_members(ranges: Iterable[tuple[int, int]]) -> Iterator[int]:
    """Yield every slot of closed ranges, in order."""
    for first, last in ranges:
        yield from range(first, last + 1)


def gaps_within(ranges: Iterable[tuple[int, int]], slots: range) -> tuple[tuple[int, int], ...]:
    """Return the slots of a range that closed ranges leave out.

    >>> gaps_within([(1, 2), (5, 5)], range(0, 5))
    ((0, 0), (3, 4))
    """
    first, last = slots.start, slots.stop - 1
    inside = ((max(low, first), min(high, last)) for low, high in ranges if high >= first and low <= last)
    return gaps_of([(first - 1, first - 1), *inside], last)


def count_of(ranges: Iterable[tuple[int, int]]) -> int:
    """Return how many slots closed ranges hold, without listing them."""
    return sum(last - first + 1 for first, last in ranges)


def gaps_of(ranges: Iterable[tuple[int, int]], through: int) -> tuple[tuple[int, int], ...]:
    """Return the gaps between the first slot of closed ranges and `through`.

    >>> gaps_of([(1, 2), (5, 5)], 7)
    ((3, 4), (6, 7))
    """
    merged = merged_ranges(ranges)
    if not merged:
        return ()
    missing, expected = [], merged[0][0]
    for first, last in merged:
        if first > expected:
            missing.append((expected, first - 1))
        expected = last + 1
    if through >= expected:
        missing.append((expected, through))
    return tuple(missing)
