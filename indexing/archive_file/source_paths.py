"""Path templates: which files hold the batch of a slot.

A template is a path with placeholders: `{start}` and `{end}` are the bounds of the slot (ISO, or by a date
format as in `{start:%Y/%m/%d/%H}`), `{slot}` is its number (or padded, as in `{slot:08d}`). Braces that Spark
should see are doubled. Two slots must never share a path: each would store the records of both.
"""

from __future__ import annotations

import re
from string import Formatter

from tidewheel.indexing.core.slots import TimeAxis, iso, moment
from tidewheel.indexing.durations import MICROS_PER_UNIT
from tidewheel.indexing.errors import InvalidInput

PLACEHOLDERS = ("start", "end", "slot")
# Only what is the same number in every locale and on every system.
DATE_DIRECTIVES = "YymdHMSfjGVu"
_DATE_FORMAT = re.compile(f"(?:[^%{{}}]|%[{DATE_DIRECTIVES}%])*")
_SLOT_FORMAT = re.compile(r"(?:0?[1-9][0-9]?)?d?")
_SAMPLE_DAYS = (1, 7, 31, 365, 366, 3653)


def path_for_slot(template: str, start_us: int, end_us: int, slot: int) -> str:
    """Return the path of one slot's batch.

    >>> path_for_slot("in/{start:%Y-%m-%d}/{slot:04d}", 0, 3_600_000_000, 7)
    'in/1970-01-01/0007'
    """
    bounds_us = {"start": start_us, "end": end_us}
    expanded = []
    for literal, name, pattern, _ in Formatter().parse(template):
        expanded.append(literal)
        if name == "slot":
            expanded.append(format(slot, pattern or ""))
        elif name is not None:
            bound_us = bounds_us[name]
            expanded.append(moment(bound_us).strftime(pattern) if pattern else iso(bound_us))
    return "".join(expanded)


def check_template(template: str) -> None:
    """Refuse a template that `path_for_slot` cannot expand, or that names no slot."""
    try:
        parts = list(Formatter().parse(template))
    except ValueError as error:
        raise InvalidInput(str(error).lower(), "close each placeholder; double a brace that is meant") from None
    named = [_checked_placeholder(*part[1:]) for part in parts if part[1] is not None]
    if not {"start", "slot"} & set(named):
        raise InvalidInput("the path is the same for every slot", "name the slot with {start:%Y-%m-%dT%H%M} or {slot}")


def shared_path(template: str, axis: TimeAxis) -> tuple[str, str, str] | None:
    """Return two slots that a checked template sends to one path, and that path; None if no sample shows any.

    The samples are the first slots of the archive, and slots a day, a week, a month and years on.
    """
    jumps = [days * MICROS_PER_UNIT["d"] // axis.interval_us for days in _SAMPLE_DAYS]
    first_slot_of: dict[str, int] = {}
    for slot in sorted({*range(500), *jumps}):
        path = path_for_slot(template, axis.start_us(slot), axis.end_us(slot), slot)
        if path in first_slot_of:
            return axis.name(first_slot_of[path]), axis.name(slot), path
        first_slot_of[path] = slot
    return None


def _checked_placeholder(name: str | None, pattern: str | None, conversion: str | None) -> str:
    written = f"{{{name}{'!' + conversion if conversion else ''}{':' + pattern if pattern else ''}}}"
    if name not in PLACEHOLDERS or conversion:
        raise InvalidInput(f"unknown placeholder {written}", "known are {start}, {end} and {slot}")
    if name == "slot" and not _SLOT_FORMAT.fullmatch(pattern or ""):
        raise InvalidInput(f"{written} is not a way to write a number", "write {slot} or, padded, {slot:08d}")
    if name != "slot" and not _DATE_FORMAT.fullmatch(pattern or ""):
        raise InvalidInput(
            f"{written} is not a date format",
            f"use {{{name}:%Y-%m-%dT%H%M}}; known are %{' %'.join(DATE_DIRECTIVES)}",
        )
    return name
