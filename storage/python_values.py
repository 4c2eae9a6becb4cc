"""Arrow values as Python's: a moment or day that Python's calendar ends before becomes its ISO text, not an error.

PostgreSQL's 'infinity', for one, arrives as a moment in the year 294247.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tidewheel.indexing.slots import iso

_DAY_US = 86_400 * 10**6


def python_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values of a column."""
    try:
        return list(column.to_pylist())
    except (OverflowError, ValueError):
        return [_value(scalar) for scalar in column]


def _value(scalar: pa.Scalar) -> Any:
    try:
        return scalar.as_py()
    except (OverflowError, ValueError):
        if pa.types.is_timestamp(scalar.type):
            return iso(scalar.cast(pa.timestamp("us", scalar.type.tz)).value)
        if pa.types.is_date(scalar.type):
            return iso(scalar.cast(pa.date32()).value * _DAY_US).partition("T")[0]
        if pa.types.is_struct(scalar.type):
            return {name: _value(scalar[name]) for name in scalar}
        if pa.types.is_list(scalar.type) or pa.types.is_large_list(scalar.type):
            return [_value(one) for one in scalar]
        raise
