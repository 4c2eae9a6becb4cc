"""The kinds of value that an archive file holds, each with the one checker that reads it.

A kind turns what TOML gave into what the program works with, or raises `InvalidInput` with what is wrong and
the remedy; it knows neither the key nor the file. `title` is how the reference names the kind.

A value of many parts raises one error whose `values["each"]` are the errors of the parts, and a part inside a
table says with `values["within"]` which key of it is meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time
from enum import StrEnum
from typing import Any, TypeVar

from tidewheel.indexing.core.slots import micros
from tidewheel.indexing.durations import USUAL, duration_text, parse_duration
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.schedule.cron import checked_cron


@dataclass(frozen=True)
class ValueKind:
    """`schema` is what a JSON schema says of the value."""

    title: str
    check: Callable[[object], Any]
    schema: Mapping[str, Any] = field(default_factory=dict, compare=False)


Part = TypeVar("Part")
IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"
NAME_PATTERN = r"[a-z][a-z0-9_]{0,62}"
WHOLE_MAX = 2**63 - 1
_EPOCH_YEARS = range(1900, 2200)


def text(value: object) -> str:
    """Return a string in which every character can be seen."""
    if not isinstance(value, str):
        raise InvalidInput(f"{kind_name(value)}, not a string", "write it in double quotes")
    if not value.isprintable():
        raise InvalidInput("holds a line break or another character that cannot be seen", "write it in one line")
    return value


def lines(value: str) -> str:
    """Return the text of one or more lines, in which every other character can be seen."""
    if not all(one.isprintable() or one in "\n\t" for one in value):
        raise InvalidInput("holds a character that cannot be seen", "remove it")
    return value.strip()


def check_each(checks: Iterable[Callable[[], Part]]) -> list[Part]:
    """Return the parts of a value, each from its own check; every check runs, so that no fault hides another."""
    parts, errors = [], []
    for check in checks:
        try:
            parts.append(check())
        except InvalidInput as error:
            errors.append(error)
    if errors:
        raise InvalidInput("; ".join(error.message for error in errors), errors[0].remedy, each=tuple(errors))
    return parts


def some_text(value: object) -> str:
    checked = text(value)
    if checked != checked.strip() or not checked:
        raise InvalidInput("empty, or with spaces at an end", "write the value without them, or leave the key out")
    return checked


def kind_name(value: object) -> str:
    """Return TOML's word for the type of a value."""
    names: dict[type, str] = {
        bool: "a boolean", int: "a whole number", float: "a number", str: "a string", list: "an array",
        dict: "a table", datetime: "a date and time", date: "a date", time: "a time",
    }  # fmt: skip
    return names.get(type(value), "another type")


def duration(minimum_us: int, maximum_us: int, too_long: str = "") -> ValueKind:
    """Return the kind of a fixed duration within closed bounds, in microseconds."""

    def check(value: object) -> int:
        if isinstance(value, int | float) and not isinstance(value, bool):
            raise InvalidInput("a number without a unit", USUAL)
        checked = parse_duration(some_text(value))
        if checked < minimum_us:
            raise InvalidInput("not above zero" if minimum_us == 1 else "too short", USUAL)
        if checked > maximum_us:
            raise InvalidInput(f"longer than {duration_text(maximum_us)}", too_long or USUAL)
        return checked

    return ValueKind("duration", check, {"type": "string", "pattern": r"^(P.+|(\d+(w|d|h|m|s|ms|us))+)$"})


def whole(minimum: int, maximum: int) -> ValueKind:
    """Return the kind of a whole number within closed bounds."""

    bounds = f"{minimum} to {maximum}"

    def check(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise InvalidInput(f"{kind_name(value)}, not a whole number", f"give a whole number, {bounds}")
        if not minimum <= value <= maximum:
            raise InvalidInput("out of bounds", f"give a whole number, {bounds}")
        return value

    return ValueKind(f"whole number, {bounds}", check, {"type": "integer", "minimum": minimum, "maximum": maximum})


def choice(*known: str | StrEnum, notes: Mapping[str, str] | None = None) -> ValueKind:
    """Return the kind of one of a few words; `notes` says why a plausible word is none of them."""
    words = {str(word): word for word in known}
    quoted = " or ".join(f'"{word}"' for word in words)

    def check(value: object) -> str | StrEnum:
        if isinstance(value, str) and value in words:
            return words[value]
        reason = (notes or {}).get(value) if isinstance(value, str) else None
        raise InvalidInput(reason or "not one of the choices", f"choose {quoted}")

    return ValueKind(" or ".join(f"`{word}`" for word in words), check, {"enum": list(words)})


def _name(value: object) -> str:
    checked = text(value)
    if not re.fullmatch(NAME_PATTERN, checked):
        raise InvalidInput(
            "not a name that every tool takes",
            "use a-z, 0-9 and _, begin with a letter, at most 63 characters",
        )
    return checked


def _share(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise InvalidInput(f"{kind_name(value)}, not a share", "give a number from 0 to 1")
    if not 0 <= value <= 1:
        raise InvalidInput("not a share", "give a number from 0 to 1, such as 0.5 for a half")
    return float(value)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(f"{kind_name(value)}, not a boolean", "write true or false, without quotes")
    return value


def _moment(value: object) -> int:
    remedy = "write a moment with its zone, such as 2026-01-01T00:00:00Z"
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(text(value))  # which takes a NUL behind a moment for its end
        except ValueError:
            raise InvalidInput("not a moment", remedy) from None
    if not isinstance(value, datetime):
        raise InvalidInput(f"{kind_name(value)}, not a moment", remedy)
    if value.tzinfo is None:
        raise InvalidInput("no time zone", remedy)
    if value.year not in _EPOCH_YEARS:
        raise InvalidInput("too far away", f"choose a year from {_EPOCH_YEARS[0]} to {_EPOCH_YEARS[-1]}")
    return micros(value)


def _cron(value: object) -> str:
    return checked_cron(some_text(value))


def _trimmed(value: object) -> str:
    checked = text(value)
    if checked != checked.strip():
        raise InvalidInput("with spaces at an end", "remove them")
    return checked


NAME = ValueKind("name", _name, {"type": "string", "pattern": f"^{NAME_PATTERN}$"})
SHARE = ValueKind("share, 0 to 1", _share)
FLAG = ValueKind("`true` or `false`", _flag)
MOMENT = ValueKind("moment with time zone", _moment)
CRON = ValueKind("preset or 5-field cron", _cron)
TEXT = ValueKind("text", _trimmed, {"type": "string"})
