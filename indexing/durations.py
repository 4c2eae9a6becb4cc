"""Durations as people write them: a whole number of each unit, largest unit first, no months.

A duration is a fixed number of microseconds. Months and years have no fixed length, so they are refused with
that reason. Fractions are refused too: `1h30m` says exactly what `1.5h` only suggests.
"""

from __future__ import annotations

import re

from tidewheel.indexing.errors import InvalidInput

MICROS_PER_UNIT = {
    "w": 7 * 24 * 3600 * 1_000_000,
    "d": 24 * 3600 * 1_000_000,
    "h": 3600 * 1_000_000,
    "m": 60 * 1_000_000,
    "s": 1_000_000,
    "ms": 1_000,
    "us": 1,
}
# Beyond this, an expiry computed from today leaves the calendar that Spark, DuckDB and Python share.
DURATION_MAX_US = 36_525 * MICROS_PER_UNIT["d"]
USUAL = 'use a duration such as "90s", "15m", "1h" or "7d"'

_COUNT = r"([0-9]{1,18})"
_SHORT = re.compile("".join(f"(?:{_COUNT}{unit}(?![a-z]))?" for unit in MICROS_PER_UNIT))
_ISO = re.compile(
    f"P(?:{_COUNT}W)?(?:{_COUNT}D)?(?:T(?=[0-9])(?:{_COUNT}H)?(?:{_COUNT}M)?(?:{_COUNT}S)?)?", re.IGNORECASE
)
_ISO_UNITS = ("w", "d", "h", "m", "s")
_CALENDAR = re.compile(r"P[0-9]+[YM].*|[0-9]+ *(?:M|mo|mon|months?|y|Y|yr|yrs|years?)")
_WORDS = re.compile(r"([0-9]{1,18}) *([a-z]+)")
_WORD_UNITS = {
    "week": "w", "day": "d", "hour": "h", "hr": "h", "minute": "m", "min": "m", "second": "s", "sec": "s",
    "millisecond": "ms", "millis": "ms", "microsecond": "us", "micros": "us",
}  # fmt: skip


def parse_duration(text: str) -> int:
    """Return the duration in microseconds.

    >>> parse_duration("1h30m"), parse_duration("PT1H")
    (5400000000, 3600000000)
    """
    for pattern, units in ((_SHORT, tuple(MICROS_PER_UNIT)), (_ISO, _ISO_UNITS)):
        match = pattern.fullmatch(text)
        if match and any(match.groups()):
            return _total(match.groups(), units)
    raise _refusal(text)


def duration_text(duration_us: int) -> str:
    """Return the shortest way to write a duration; `parse_duration` reads it back.

    >>> duration_text(5_400_000_000), duration_text(0)
    ('1h30m', '0s')
    """
    written, rest = "", duration_us
    for unit, micros_per_unit in MICROS_PER_UNIT.items():
        # A week is written as 7d: durations are compared by eye, and days are what people count.
        count, rest = (0, rest) if unit == "w" else divmod(rest, micros_per_unit)
        written += f"{count}{unit}" if count else ""
    return written or "0s"


def _total(counts: tuple[str | None, ...], units: tuple[str, ...]) -> int:
    total_us = sum(
        int(count) * MICROS_PER_UNIT[unit] for count, unit in zip(counts, units, strict=True) if count is not None
    )
    if total_us > DURATION_MAX_US:
        raise InvalidInput("longer than 100 years", USUAL)
    return total_us


def _refusal(text: str) -> InvalidInput:
    """Return the most helpful thing to say about a text that is no duration."""
    if _CALENDAR.fullmatch(text.strip()):
        return InvalidInput("a month or a year has no fixed length", 'use a duration such as "1h", "7d" or "30d"')
    words = _WORDS.fullmatch(text.strip().lower())
    if words and (unit := _WORD_UNITS.get(words[2]) or _WORD_UNITS.get(words[2].removesuffix("s"))):
        return InvalidInput("units are written short", f'write "{words[1]}{unit}"')
    if re.fullmatch("[0-9]+", text):
        return InvalidInput("a number without a unit", USUAL)
    if re.search(r"[0-9][.,][0-9]", text):
        return InvalidInput("a duration has no fractions", 'combine units instead, such as "1h30m" or "500ms"')
    return InvalidInput("not a duration", f"{USUAL}; units are w, d, h, m, s, ms, us, the largest first")
