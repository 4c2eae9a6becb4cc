"""Durations: what is written is what is meant, and what has no fixed length is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidewheel.indexing.durations import MICROS_PER_UNIT, duration_text, parse_duration
from tidewheel.indexing.errors import InvalidInput

SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 24 * 3600 * SECOND


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90s", 90 * SECOND), ("15m", 15 * MINUTE), ("1h", HOUR), ("1d", DAY), ("7d", 7 * DAY),
        ("2w", 14 * DAY),
        ("1h30m", 90 * MINUTE), ("500ms", 500_000), ("1m5ms", MINUTE + 5000), ("3us", 3), ("0s", 0),
        ("PT1H", HOUR), ("P1D", DAY), ("P1DT12H", 36 * HOUR), ("PT90S", 90 * SECOND), ("P2W", 14 * DAY),
        ("pt15m", 15 * MINUTE),
    ],
)  # fmt: skip
def test_durations(text: str, expected: int) -> None:
    assert parse_duration(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "P", "PT", "P1DT", "h", "1", "-1h", "+1h", "1h 30m", "1h1h", "1s1m", "1.5h",
        "1M", "P1M", "P1Y2M", "1y", "1x", "1H30M", "１h", "9" * 19 + "s", "1month", "month",
        "999999999999999999d",
    ],
)  # fmt: skip
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_duration(text)


@given(st.integers(0, 36_525 * DAY))
def test_a_written_duration_reads_back(duration_us: int) -> None:
    assert parse_duration(duration_text(duration_us)) == duration_us


@given(st.dictionaries(st.sampled_from(sorted(MICROS_PER_UNIT)), st.integers(0, 300), min_size=1))
def test_a_duration_is_the_sum_of_its_units(counts: dict[str, int]) -> None:
    text = "".join(f"{counts[unit]}{unit}" for unit in MICROS_PER_UNIT if unit in counts)

    assert parse_duration(text) == sum(count * MICROS_PER_UNIT[unit] for unit, count in counts.items())


@given(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99), st.integers(0, 99))
def test_iso_and_short_durations_agree(days: int, hours: int, minutes: int, seconds: int) -> None:
    iso_text = f"P{days}DT{hours}H{minutes}M{seconds}S"

    assert parse_duration(iso_text) == parse_duration(f"{days}d{hours}h{minutes}m{seconds}s")


@given(st.text(max_size=20))
def test_any_text_is_a_duration_or_refused(text: str) -> None:
    try:
        duration_us = parse_duration(text)
    except InvalidInput:
        return
    assert 0 <= duration_us <= 36_525 * DAY
