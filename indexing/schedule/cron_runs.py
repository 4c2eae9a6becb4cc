"""The moments at which a schedule starts runs, in UTC: the next ones, the newest one, and whether slots start there.

A run's interval reaches from one start to the next, at which the run is due. So it holds whole slots exactly if every
start is a slot's start.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, timedelta

from tidewheel.indexing.core.slots import TimeAxis, iso
from tidewheel.indexing.durations import MICROS_PER_UNIT, duration_text
from tidewheel.indexing.schedule.cron import FIELDS, NEVER, PRESET_FIELDS, preset_misfit, values_of

_DAY_US, _MINUTE_US = MICROS_PER_UNIT["d"], MICROS_PER_UNIT["m"]
# In so many years every date has fallen on every day of the week.
_YEARS = 28
_EPOCH = date(1970, 1, 1)


def cron_misfit(text: str, axis: TimeAxis) -> str:
    """Return why the runs of a schedule do not hold whole slots; empty if they do."""
    if not text or text.startswith("@"):
        return preset_misfit(text, axis)
    wrong = next((at for at in _starts(text, axis) if (at - axis.epoch_us) % axis.interval_us), None)
    if wrong is None:
        return ""
    return f"a run would start at {iso(wrong)}, where no slot of {duration_text(axis.interval_us)} starts"


def runs_after(text: str, at_us: int) -> Iterator[int]:
    """Yield the starts of runs after a moment, soonest first; none for a schedule without runs.

    >>> from itertools import islice
    >>> [iso(one) for one in islice(runs_after("0 8 * * 1-5", 0), 3)]  # the epoch was a Thursday
    ['1970-01-01T08:00:00Z', '1970-01-02T08:00:00Z', '1970-01-05T08:00:00Z']
    >>> list(runs_after("@never", 0))
    []
    """
    if text == NEVER:
        return
    today = at_us // _DAY_US
    for start in _starts_on(text, range(today, today + _YEARS * 366)):
        if start > at_us:
            yield start


def newest_run(text: str, at_us: int) -> int | None:
    """Return the last start of a run at or before a moment.

    >>> iso(newest_run("0 8 * * 1-5", 4 * _DAY_US)), newest_run("@never", 0)
    ('1970-01-02T08:00:00Z', None)
    """
    if text == NEVER:
        return None
    today = at_us // _DAY_US
    for day in range(today, today - _YEARS * 366, -1):
        starts = [start for start in _starts_on(text, [day]) if start <= at_us]
        if starts:
            return starts[-1]
    return None


def _starts(text: str, axis: TimeAxis) -> Iterator[int]:
    """Yield starts of runs, until they only repeat slots that were seen."""
    days = range((date(1970 + _YEARS, 1, 1) - _EPOCH).days)
    if _DAY_US % axis.interval_us:
        return _starts_on(text, days)
    first = next(_starts_on(text, days), None)
    return _starts_on(text, [] if first is None else [first // _DAY_US])


def _starts_on(text: str, days: Iterable[int]) -> Iterator[int]:
    """Yield the starts on some days, which are numbered from the epoch on."""
    fields = PRESET_FIELDS.get(text, text).split()
    minutes, hours, dates, months, weekdays = (
        values_of(field, *bounds) for field, bounds in zip(fields, FIELDS, strict=True)
    )
    # Where both the date and the day of the week are limited, either of them is enough.
    fits = all if "*" in (fields[2], fields[4]) else any
    isoweekdays = {one % 7 for one in weekdays}
    times = [(60 * hour + minute) * _MINUTE_US for hour in sorted(hours) for minute in sorted(minutes)]
    for number in days:
        day = _EPOCH + timedelta(days=number)
        if day.month in months and fits((day.day in dates, day.isoweekday() % 7 in isoweekdays)):
            yield from (number * _DAY_US + time for time in times)
