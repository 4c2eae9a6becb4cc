"""Arrow values as Python's: a moment or day that Python cannot hold becomes its ISO text, not an error.

PostgreSQL's 'infinity', for one, arrives as a moment in the year 294247; and Python's clocks know no nanoseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arro3.core import Array, ChunkedArray, DataType

from tidewheel.indexing.core.slots import iso

if TYPE_CHECKING:
    import pyarrow as pa

_DAY_US = 86_400 * 10**6
_UNIT_NS = {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}
_MOMENT = str(DataType.timestamp("us", tz="UTC"))
_NUMBERS = (
    DataType.int64(),
    DataType.int32(),
    DataType.int16(),
    DataType.int8(),
    DataType.float64(),
    DataType.float32(),
)
# Of these types arro3 gives the same values as pyarrow, which takes long to load.
_SAME = {_MOMENT, *map(str, (DataType.string(), DataType.binary(), DataType.bool(), DataType.date32(), *_NUMBERS))}


def python_values(column: Array | ChunkedArray | pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return the values of a column, whose type is arro3's or pyarrow's."""
    own = isinstance(column, Array | ChunkedArray)
    # Moments are made several times as fast by arro3, whoever brings them.
    if (own and str(column.type) in _SAME) or str(column.type) == "timestamp[us, tz=UTC]":
        values = _by_arro3(column if own else ChunkedArray.from_arrow(column))
        if values is not None:
            return values
    return _by_pyarrow(column)


def dicts(rows: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of a table, by its columns' names."""
    columns = map(python_values, rows.columns)
    return [dict(zip(rows.column_names, values, strict=True)) for values in zip(*columns, strict=True)]


def _by_arro3(column: Array | ChunkedArray) -> list[Any] | None:
    """Return the values; None if a value is beyond the calendar, for which arro3 gives None or fails."""
    try:
        values = list(column.to_pylist())
    except ValueError:
        return None
    return values if values.count(None) == column.null_count else None


def _by_pyarrow(column: Array | ChunkedArray | pa.Array | pa.ChunkedArray) -> list[Any]:
    import pyarrow as pa

    values: Any = column
    if isinstance(column, Array | ChunkedArray):
        values = pa.array(column) if isinstance(column, Array) else pa.chunked_array(column)
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
    """Return a moment's ISO text, to the nanosecond if it has any."""
    micros, nanos = divmod(moment.value * _UNIT_NS[moment.type.unit], 1000)
    text = iso(micros)
    if not nanos:
        return text
    seconds, _, fraction = text.removesuffix("Z").partition(".")
    return f"{seconds}.{fraction or '000000'}{nanos:03d}Z"
