"""When updates run: presets and five-field cron texts, checked without a scheduler.

Only what a person can get wrong in the file is judged here: the number of fields, names and bounds, and whether the
runs of presets hold whole slots; those of five fields are looked at in `cron_runs`.
"""

from __future__ import annotations

import re

from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.durations import MICROS_PER_UNIT, duration_text
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.printable import counted

# The preset, the length that all its runs are multiples of, and one moment at which a run starts, in days.
_PRESETS = {
    "@hourly": (MICROS_PER_UNIT["h"], 0),
    "@daily": (MICROS_PER_UNIT["d"], 0),
    "@weekly": (MICROS_PER_UNIT["w"], 3),  # 1970-01-04 was the first Sunday
    "@monthly": (MICROS_PER_UNIT["d"], 0),
}
PRESET_FIELDS = {"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *"}
# No runs: what is not brought by hand does not come.
NEVER = "@never"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
FIELDS: tuple[tuple[str, int, int, tuple[str, ...]], ...] = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of month", 1, 31, ()),
    ("month", 1, 12, _MONTHS),
    ("day of week", 0, 7, _DAYS),
)
_ITEM = re.compile(r"(?:\*|([0-9]{1,2}|[a-z]{3})(?:-([0-9]{1,2}|[a-z]{3}))?)(?:/([0-9]{1,2}))?")
_REMEDY = f'use {", ".join(_PRESETS)}, {NEVER} or five fields such as "*/5 * * * *"'


def checked_cron(text: str) -> str:
    """Return the text itself, if it is a preset or five fields within their bounds."""
    if text.startswith("@"):
        if text not in _PRESETS and text != NEVER:
            raise InvalidInput("unknown preset", _REMEDY)
        return text
    fields = text.split()
    if len(fields) != len(FIELDS):
        raise InvalidInput(f"{counted(len(fields), 'field')} instead of five", _REMEDY)
    for field, (name, first, last, words) in zip(fields, FIELDS, strict=True):
        for item in field.lower().split(","):
            if not _item_fits(item, first, last, words):
                raise InvalidInput(
                    f"{field} is not possible as the {name}", f"use {first} to {last}, *, ranges, /steps"
                )
    return text


def preset_misfit(preset: str, axis: TimeAxis) -> str:
    """Return why the runs of a preset do not hold whole slots; empty if they do, or if it is no preset."""
    if preset not in _PRESETS:
        return ""
    run_us, start_day = _PRESETS[preset]
    if run_us % axis.interval_us:
        return f"a run does not hold whole slots of {duration_text(axis.interval_us)}"
    if (start_day * MICROS_PER_UNIT["d"] - axis.epoch_us) % axis.interval_us:
        return "runs do not start where slots start, which the epoch decides"
    return ""


def fitting_cron(axis: TimeAxis) -> str:
    """Return the most frequent schedule whose runs hold whole slots: a preset, one shifted as the epoch is, or nothing.

    >>> fitting_cron(TimeAxis(MICROS_PER_UNIT["d"])), fitting_cron(TimeAxis(MICROS_PER_UNIT["d"], 30_600_000_000))
    ('@daily', '30 8 * * *')
    >>> fitting_cron(TimeAxis(MICROS_PER_UNIT["w"], 30_600_000_000))  # the epoch was a Thursday
    '30 8 * * 4'
    """
    fitting = (preset for preset in _PRESETS if not preset_misfit(preset, axis))
    return next(fitting, "") or _shifted_cron(axis)


def _shifted_cron(axis: TimeAxis) -> str:
    """Return an hourly, daily or weekly schedule from the start of a slot, if that is on a whole minute."""
    minute, rest = divmod(axis.epoch_us % axis.interval_us, MICROS_PER_UNIT["m"])
    if rest:
        return ""
    hour, day = minute // 60, minute // (24 * 60)
    if MICROS_PER_UNIT["h"] % axis.interval_us == 0:
        return f"{minute} * * * *"
    if MICROS_PER_UNIT["d"] % axis.interval_us == 0:
        return f"{minute % 60} {hour} * * *"
    if MICROS_PER_UNIT["w"] % axis.interval_us == 0:
        return f"{minute % 60} {hour % 24} * * {(day + 4) % 7}"
    return ""


def values_of(field: str, name: str, first: int, last: int, words: tuple[str, ...]) -> set[int]:
    """Return the numbers that a checked field stands for.

    >>> sorted(values_of("1,5-9/2", "hour", 0, 23, ()))
    [1, 5, 7, 9]
    """
    values: set[int] = set()
    for item in field.lower().split(","):
        match = _ITEM.fullmatch(item)
        assert match is not None, f"{field} passed as the {name}"
        low = _number(match[1], first, words) if match[1] else first
        # A number with a step goes on to the end, as * does.
        high = _number(match[2], first, words) if match[2] else low if match[1] and not match[3] else last
        values.update(range(low, high + 1, int(match[3] or 1)))
    return values


def _item_fits(item: str, first: int, last: int, words: tuple[str, ...]) -> bool:
    match = _ITEM.fullmatch(item)
    if not match:
        return False
    bounds = [_number(word, first, words) for word in match.group(1, 2) if word]
    step = int(match[3]) if match[3] else 1
    return all(first <= bound <= last for bound in bounds) and bounds == sorted(bounds) and step > 0


def _number(word: str, first: int, words: tuple[str, ...]) -> int:
    if word.isdigit():
        return int(word)
    return words.index(word) + first if word in words else -1
