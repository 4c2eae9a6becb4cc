"""Values of any column as JSON can hold them."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from tidewheel.indexing.key_text import bytes_text

# A datetime is a date as well: the first row that fits holds.
_TEXTS: tuple[tuple[tuple[type, ...], Callable[[Any], str]], ...] = (
    ((datetime,), lambda moment: moment.isoformat().replace("+00:00", "Z")),
    ((date, time), lambda day: day.isoformat()),
    ((bytes,), bytes_text),
    ((Decimal, timedelta), str),
)


def json_value(value: Any) -> Any:
    """Return a value as JSON can hold it without loss."""
    if isinstance(value, float):
        return _float_value(value)
    if isinstance(value, dict):
        return {str(name): json_value(one) for name, one in value.items()}
    if hasattr(value, "nanoseconds"):
        return interval_text(*value)
    if isinstance(value, list | tuple):
        return [json_value(one) for one in value]
    for kinds, text in _TEXTS:
        if isinstance(value, kinds):
            return text(value)
    return value


def _float_value(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def interval_text(months: int, days: int, nanoseconds: int) -> str:
    """An interval as DuckDB writes and reads it: months, days and time are kept apart, each with its own sign.

    >>> interval_text(0, 0, 300 * 10**9), interval_text(-14, 3, -2_500_000_000)
    ('00:05:00', '-1 year -2 months 3 days -00:00:02.5')
    """
    years = abs(months) // 12 * (1 if months > 0 else -1)
    counts = {"year": years, "month": months - 12 * years, "day": days}
    parts = [f"{count} {unit}{'s' * (abs(count) != 1)}" for unit, count in counts.items() if count]
    if nanoseconds or not parts:
        seconds, fraction = divmod(abs(nanoseconds), 10**9)
        clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        parts.append(f"{'-' * (nanoseconds < 0)}{clock}{f'.{fraction:09d}'.rstrip('0') * (fraction > 0)}")
    return " ".join(parts)
