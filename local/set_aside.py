"""The keys of records that were set aside, which lie beside the archive as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any

import pyarrow as pa


def keys_in_json(records: Sequence[str], schema: pa.Schema) -> pa.Table | None:
    """Return the key of each record; None if one of them is written as only Spark reads it.

    >>> keys_in_json(['{"k": 7, "body": 1}', '{"k": null}'], pa.schema([("k", pa.int64())])).to_pylist()
    [{'k': 7}, {'k': None}]
    >>> keys_in_json(['{"k": 7.5}'], pa.schema([("k", pa.int64())])) is None
    True
    """
    rows = [json.loads(record) for record in records]
    try:
        columns = [
            pa.array([_value(row.get(field.name), field.type) for row in rows], field.type, safe=True)
            for field in schema
        ]
    except (TypeError, ValueError, OverflowError):  # Arrow's errors of values are ValueErrors
        return None
    return pa.Table.from_arrays(columns, schema=schema)


def _value(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    written, read = _read_of(kind)
    if type(value) is not written:
        raise TypeError(f"{value!r} is not written as {kind}")
    return read(value)


def _read_of(kind: pa.DataType) -> tuple[type, Callable[[Any], Any]]:
    """How JSON holds values of a kind, and how they are read from that."""
    if pa.types.is_integer(kind):
        return int, int
    if pa.types.is_date(kind):
        return str, date.fromisoformat
    if pa.types.is_timestamp(kind):
        return str, datetime.fromisoformat
    return str, str
