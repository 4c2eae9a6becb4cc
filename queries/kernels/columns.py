"""Accumulators as Arrow arrays: the columns that `Operation.columns` declares, and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from tidewheel.queries.operation import Operation

_PLAIN = {"BIGINT": pa.int64(), "INTEGER": pa.int32(), "BLOB": pa.binary()}


def arrow_type(sql_type: str, inputs: Sequence[Any]) -> Any:
    """The Arrow type of a declared column; T0, T1, ... are the types of the operation's inputs."""
    if sql_type.endswith("[]"):
        return pa.list_(arrow_type(sql_type[:-2], inputs))
    if sql_type.startswith("STRUCT("):
        fields = (field.split(" ", 1) for field in sql_type[len("STRUCT(") : -1].split(", "))
        return pa.struct([(name, arrow_type(field, inputs)) for name, field in fields])
    if sql_type.startswith("DECIMAL("):
        precision, scale = sql_type[len("DECIMAL(") : -1].split(",")
        return pa.decimal128(int(precision), int(scale))
    return _PLAIN[sql_type] if sql_type in _PLAIN else inputs[int(sql_type.removeprefix("T"))]


def stored(operation: Operation, accumulators: Iterable[Any], inputs: Sequence[Any]) -> list[Any]:
    """One array per column; an accumulator that is None is NULL in all of them."""
    missing = (None,) * len(operation.columns)
    rows = [missing if value is None else operation.store(value) for value in accumulators]
    return [
        pa.array([row[position] for row in rows], arrow_type(column.sql_type, inputs))
        for position, column in enumerate(operation.columns)
    ]


def loaded(operation: Operation, columns: Sequence[Any]) -> list[Any]:
    """Return accumulators from the columns that `stored` made."""
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    return [
        None if all(cell is None for cell in row) else operation.load([_tuples(cell) for cell in row]) for row in rows
    ]


def _tuples(cell: Any) -> Any:
    """Structs as tuples."""
    if isinstance(cell, list):
        return [tuple(entry.values()) if isinstance(entry, dict) else entry for entry in cell]
    return cell
