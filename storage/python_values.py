"""Arrow values as Python's: a moment or day that Python cannot hold becomes its ISO text, not an error.

PostgreSQL's 'infinity', for one, arrives as a moment in the year 294247; and Python's clocks know no nanoseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arro3.core import ChunkedArray, DataType

from tidewheel.indexing.slots import iso

if TYPE_CHECKING:
    import pyarrow as pa
    from arro3.core.types import ArrowArrayExportable, ArrowStreamExportable

_DAY_US = 86_400 * 10**6
# Of these types arro3 gives the same values as pyarrow, several times as fast where they are moments.
_SAME = {
    *map(str, (DataType.string(), DataType.int64(), DataType.int32(), DataType.float64(), DataType.bool())),
    'Timestamp(µs, "UTC")',
}
_UNIT_NS = {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}


def python_values(column: ArrowArrayExportable | ArrowStreamExportable) -> list[Any]:
    """The values of a column."""
    own = ChunkedArray.from_arrow(column)
    if str(own.type) in _SAME:
        values = list(own.to_pylist())
        # It gives None for a moment that is beyond the calendar.
        if values.count(None) == own.null_count:
            return values
    return _by_pyarrow(own)


def _by_pyarrow(column: ChunkedArray) -> list[Any]:
    import pyarrow as pa

    values = pa.chunked_array(column)
    try:
        return list(values.to_pylist())
    except (OverflowError, ValueError):
        return [_value(scalar) for scalar in values]


def _value(scalar: pa.Scalar) -> Any:
    import pyarrow as pa

    try:
        return scalar.as_py()
    except (OverflowError, ValueError):
        if pa.types.is_timestamp(scalar.type):
            return _iso_text(scalar)
        if pa.types.is_date(scalar.type):
            return iso(scalar.cast(pa.date32()).value * _DAY_US).partition("T")[0]
        if pa.types.is_struct(scalar.type):
            return {name: _value(scalar[name]) for name in scalar}
        if pa.types.is_map(scalar.type):
            return [(_value(entry[0]), _value(entry[1])) for entry in scalar.values]
        if pa.types.is_list(scalar.type) or pa.types.is_large_list(scalar.type):
            return [_value(one) for one in scalar]
        return scalar.cast(pa.string()).as_py()


def _iso_text(moment: pa.Scalar) -> str:
    """A moment's ISO text, to the nanosecond if it has any."""
    micros, nanos = divmod(moment.value * _UNIT_NS[moment.type.unit], 1000)
    text = iso(micros)
    if not nanos:
        return text
    seconds, _, fraction = text.removesuffix("Z").partition(".")
    return f"{seconds}.{fraction or '000000'}{nanos:03d}Z"
