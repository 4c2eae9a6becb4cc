"""Facts of data files, from their rows in a Delta log: planners and readers share them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from arro3.core import DataType, Table

from tidewheel.indexing.core.slots import micros
from tidewheel.indexing.core.state import FileFact
from tidewheel.storage.uncollected import uncollected

# Delta allows writers to cut the timestamps of their statistics to milliseconds.
STATISTIC_CUT = timedelta(microseconds=999)
_ABOVE_ALL = "\U0010ffff"
_CUT_MAX = datetime.max.replace(tzinfo=UTC) - STATISTIC_CUT
_CUT_US, _CUT_MAX_US = micros(datetime(1970, 1, 1, tzinfo=UTC) + STATISTIC_CUT), micros(_CUT_MAX)
_PLANNED_FROM = (
    "path",
    "partition.layout",
    "partition.g",
    "partition.e",
    "min.ins_slot",
    "max.ins_slot",
    "min.exp_slot",
    "max.exp_slot",
    "num_records",
    "size_bytes",
)


def facts_in(adds: Table, key: tuple[str, ...]) -> tuple[FileFact, ...]:
    """Return a fact for each row. ValueError: the log lacks what plans need."""
    if not adds.num_rows:
        return ()
    if missing := [name for name in _PLANNED_FROM if name not in adds.column_names]:
        raise ValueError(f"the log has no statistics {', '.join(missing)}")
    if any(adds.column(name).null_count for name in _PLANNED_FROM):
        raise ValueError("the log has files without statistics of their slots")
    with uncollected():
        columns = [adds.column(name).to_pylist() for name in _PLANNED_FROM]
        keys_min = zip(*(_bounds(adds, "min", name) for name in key), strict=True)
        keys_max = zip(*(_bounds(adds, "max", name) for name in key), strict=True)
        values = zip(*columns, _ends_us(adds), keys_min, keys_max, strict=True)
        return tuple(FileFact(*one) for one in values)


def _ends_us(adds: Table) -> list[int | None]:
    """Return the last moment at which a record is valid, file by file; as numbers, for moments take long to make."""
    if "max.valid_until" not in adds.column_names:
        return [None] * adds.num_rows
    moments = adds.column("max.valid_until").cast(DataType.timestamp("us", tz="UTC")).cast(DataType.int64())
    return [None if value is None or value > _CUT_MAX_US else value + _CUT_US for value in moments.to_pylist()]


def _bounds(adds: Table, bound: str, name: str) -> list[Any]:
    """Return the least or greatest values of a column, file by file; None where the log has none."""
    column = f"{bound}.{name}"
    if column not in adds.column_names:
        return [None] * adds.num_rows
    found = adds.column(column)
    if bool(DataType.is_floating(found.type)):  # bool: its stub names another class of that name
        # NaN sorts after every number and is in no statistic: floating point never excludes a file.
        return [None] * adds.num_rows
    try:
        values = list(found.to_pylist())
    except ValueError:  # a day that Python's calendar ends before
        return [None] * adds.num_rows
    if bound == "max" and bool(DataType.is_timestamp(found.type)):
        return [None if value is None or value > _CUT_MAX else value + STATISTIC_CUT for value in values]
    return [_sure(value) for value in values] if bound == "max" else values


def _sure(greatest: Any) -> Any:
    r"""Return a value that is surely no less than the greatest one, or None.

    Earlier programs wrote characters beyond U+FFFF as pairs of escapes (\ud842\udfb7), and delta-rs 1.6.6 reads some of
    these as smaller characters (U+20BB7 as U+10BB7). The last character of a text that was cut may be too small as
    well.
    """
    if not isinstance(greatest, str) or greatest.isascii() or max(greatest) <= "\uffff":
        return greatest
    return None if max(greatest[:-1], default="") > "\uffff" else greatest[:-1] + _ABOVE_ALL
