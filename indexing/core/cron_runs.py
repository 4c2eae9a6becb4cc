"""The moments at which five cron fields start runs, in UTC, as far as it takes to see whether slots start there too.

A run's interval reaches from one start to the next, so it holds whole slots exactly if every start is a slot's start.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

from tidewheel.indexing.core.cron import FIELDS, preset_misfit, values_of
from tidewheel.indexing.core.slots import TimeAxis, iso
from tidewheel.indexing.durations import MICROS_PER_UNIT, duration_text

_DAY_US, _MINUTE_US = MICROS_PER_UNIT["d"], MICROS_PER_UNIT["m"]
# In so many years every date has fallen on every day of the week.
_YEARS = 28


def cron_misfit(text: str, axis: TimeAxis) -> str:
    """Why the runs of a schedule do not hold whole slots; empty if they do."""
    if not text or text.startswith("@"):
        return preset_misfit(text, axis)
    wrong = next((at for at in _starts(text, axis) if (at - axis.epoch_us) % axis.interval_us), None)
    if wrong is None:
        return ""
    return f"a run would start at {iso(wrong)}, where no slot of {duration_text(axis.interval_us)} starts"


def _starts(text: str, axis: TimeAxis) -> Iterator[int]:
    """Starts of runs, until they only repeat what was seen of the slots."""
    minutes, hours, days, months, weekdays = (
        values_of(field, *bounds) for field, bounds in zip(text.split(), FIELDS, strict=True)
    )
    either = all(field != "*" for field in (text.split()[2], text.split()[4]))
    times = [(60 * hour + minute) * _MINUTE_US for hour in sorted(hours) for minute in sorted(minutes)]
    first = date(1970, 1, 1)
    for number in range((date(1970 + _YEARS, 1, 1) - first).days):
        day = first + timedelta(days=number)
        on_date, on_weekday = day.day in days, day.isoweekday() % 7 in {one % 7 for one in weekdays}
        if day.month not in months or not ((on_date or on_weekday) if either else (on_date and on_weekday)):
            continue
        yield from (number * _DAY_US + time for time in times)
        if _DAY_US % axis.interval_us == 0:
            return
