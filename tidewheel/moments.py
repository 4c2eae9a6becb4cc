"""Moments as people give them: ISO text with a zone, a date, a datetime; inside, integer microseconds."""

from __future__ import annotations

from datetime import UTC, date, datetime

from tidewheel.indexing.core.slots import micros
from tidewheel.indexing.errors import InvalidInput

Moment = datetime | date | str


def moment_us(given: Moment) -> int:
    """The moment in microseconds since 1970 UTC; a date is its midnight UTC, and a time needs a zone.

    >>> moment_us("2026-11-18T10:00Z") == moment_us("2026-11-18T11:00+01:00")
    True
    """
    if isinstance(given, str):
        given = _parsed(given.strip())
    if not isinstance(given, datetime):
        given = datetime(given.year, given.month, given.day, tzinfo=UTC)
    if given.tzinfo is None:
        text = given.isoformat().removesuffix(":00")
        raise InvalidInput(f"{text} has no time zone", f"write {text}Z for UTC, or an offset such as {text}+01:00")
    return micros(given)


def _parsed(text: str) -> datetime | date:
    for read in (date.fromisoformat, datetime.fromisoformat):
        try:
            return read(text)
        except ValueError:
            continue
    raise InvalidInput(f"{text!r} is not a moment", "write it as 2026-11-18T10:00Z, or as a date: 2026-11-18")
