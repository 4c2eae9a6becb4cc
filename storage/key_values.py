"""Keys converted to the type of their column: one way for probes and for forgets, from Python and from text."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.key_text import text_bytes

_WRITTEN: dict[Callable[[pa.DataType], bool], str] = {
    pa.types.is_string: 'text, such as "10.0.0.7"',
    pa.types.is_integer: "a whole number that fits, such as 42",
    pa.types.is_floating: "a number, such as 1.5",
    pa.types.is_decimal: "a number with no more digits than the column has, such as 1.25",
    pa.types.is_binary: "bytes as 0x and two hex digits each, such as 0xfffe; or their text, unless it begins with 0x",
    pa.types.is_boolean: "true or false",
    pa.types.is_date: "a day, such as 2026-11-18",
    pa.types.is_timestamp: "a moment with its zone, such as 2026-11-18T10:00:00Z",
}


def typed_key(value: Any, name: str, arrow_type: pa.DataType) -> Any:
    """Return a key value as its column holds it; text from the command line is read as the column's type."""
    if value is None:
        raise InvalidInput(f"the key column {name} is never NULL", "give a value")
    try:
        return _converted(value, arrow_type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(
            f"{value!r} cannot be a value of the key column {name}, which is of type {arrow_type}: {error}",
            _key_remedy(arrow_type),
        ) from error


def _key_remedy(arrow_type: pa.DataType) -> str:
    """Return how to write a key of a type."""
    for is_kind, remedy in _WRITTEN.items():
        if is_kind(arrow_type):
            return f"give {remedy}"
    return f"give a value of type {arrow_type}"


def _converted(value: Any, arrow_type: pa.DataType) -> Any:
    if isinstance(value, bytes) and not pa.types.is_binary(arrow_type):
        raise TypeError("bytes are not text")
    if pa.types.is_string(arrow_type) and isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        raise TypeError("a number is not text")
    if isinstance(value, str) and not pa.types.is_string(arrow_type):
        is_binary = pa.types.is_binary(arrow_type)
        return text_bytes(value) if is_binary else pa.scalar(value).cast(arrow_type).as_py()
    _refuse_other_kinds(value, arrow_type)
    converted = pa.scalar(value, arrow_type).as_py()
    # Arrow cuts 1.5 to 1 without a word; only floating point may round.
    if isinstance(value, int | float | Decimal) and not pa.types.is_floating(arrow_type) and converted != value:
        raise ValueError("the value would change")
    return converted


def _refuse_other_kinds(value: Any, arrow_type: pa.DataType) -> None:
    if isinstance(value, bool) != pa.types.is_boolean(arrow_type):
        raise TypeError("a truth value is neither a number nor text")
    if isinstance(value, date) and isinstance(value, datetime) == pa.types.is_date(arrow_type):
        raise TypeError("a date is not a moment")
    if isinstance(value, datetime) and value.tzinfo is None:
        raise TypeError("the moment has no time zone")
