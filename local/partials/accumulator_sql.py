"""The accumulators of operations as DuckDB's SQL: lifted from records, and combined with each other.

Each operation of the catalogue says which columns its accumulator has. Here stands how DuckDB computes them over a
group of records (`lifted`) and over a group of accumulators (`combined`). Where SQL has no exact way, records are
collected and the operation itself folds them.

A float is summed without rounding: as a whole number of 2^(32 × bucket), with a bucket low enough that nothing of it
is lost; a sum is one entry for each bucket. Which buckets there are is asked before, so that one pass does it all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tidewheel.queries.operation import Operation
from tidewheel.queries.operations.exact_floats import BUCKET_INFINITE, BUCKET_NEGATIVE_INFINITE
from tidewheel.queries.operations.wide import BUCKET_BITS

FLOATS = ("FLOAT", "DOUBLE")
# One more than the 53 bits of a double, as the logarithm may be rounded up.
_MANTISSA_BITS = 54
_INPUT_TYPE = re.compile(r"\bT(\d+)\b")
_UNITS = "DECIMAL(38,0)"
_ORDERS = {
    "arg_max": ("by DESC", "at DESC", "value DESC"),
    "arg_min": ("by ASC", "at DESC", "value DESC"),
    "first": ("at ASC", "value ASC"),
    "last": ("at DESC", "value DESC"),
}
_PLAIN = ("min", "max", "bool_and", "bool_or", "bit_and", "bit_or", "bit_xor")


@dataclass(frozen=True)
class Input:
    """An operation's arguments as SQL, with their types."""

    operation: Operation
    arguments: tuple[str, ...]
    types: tuple[str, ...]
    limit: int | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """The key of an input: equal ones share an accumulator."""
        return (self.operation.name, self.arguments, self.types, self.limit)

    @property
    def is_float(self) -> bool:
        return bool(self.types) and self.types[0] in FLOATS

    @property
    def needs_buckets(self) -> bool:
        return self.is_float and self.operation.name == "sum"

    @property
    def clean(self) -> tuple[str, ...]:
        """The arguments with NaN as NULL: both are skipped."""
        pairs = zip(self.arguments, self.types, strict=True)
        return tuple(
            f"CASE WHEN isnan({argument}) THEN NULL ELSE {argument} END" if kind in FLOATS else f"({argument})"
            for argument, kind in pairs
        )

    @property
    def column_types(self) -> tuple[str, ...]:
        """The SQL types of the accumulator's columns."""
        return tuple(_INPUT_TYPE.sub(lambda match: self.types[int(match[1])], column.sql_type)
                     for column in self.operation.columns)  # fmt: skip


def bucket_of(value: str) -> str:
    """The bucket in which a finite float other than zero is a whole number."""
    return f"CAST(floor((floor(log2(abs({value}))) - {_MANTISSA_BITS}) / {BUCKET_BITS}) AS INTEGER)"


def buckets_query(given: Input, table: str) -> str:
    """The buckets that a float column of a table needs."""
    value = given.clean[0]
    return (
        f"SELECT DISTINCT CASE WHEN isinf({value}) THEN if({value} > 0, {BUCKET_INFINITE}, {BUCKET_NEGATIVE_INFINITE}) "
        f"ELSE {bucket_of(value)} END FROM {table} WHERE {value} IS NOT NULL AND {value} <> 0"
    )


def lifted(given: Input, buckets: Sequence[int] = ()) -> tuple[str, ...] | None:
    """The accumulator's columns over a group of records; None if the operation has to fold them itself."""
    name, clean = given.operation.name, given.clean
    if name == "count_rows":
        return ("count(*)",)
    if name == "count":
        return (f"count(*) FILTER (WHERE {_all_there(clean)})",)
    if name == "sum" and given.is_float:
        return (_wide_sum(clean[0], buckets),)
    if name == "sum":
        return (f"coalesce(sum({clean[0]}), 0)::{given.column_types[0]}",)
    if name in _PLAIN:
        return (_plain(given, clean[0]),)
    if name in _ORDERS:
        return _chosen(given)
    return None


def collected(given: Input, at: str) -> str:
    """A group's inputs as a list, for operations that fold them themselves; each once where that is the same.

    What stands by time comes by its times `at`, so that hardly anything has to be put in order one by one.
    """
    inputs = ", ".join(f"'i{number}': {one}" for number, one in enumerate(given.clean))
    each_once = given.operation.idempotent and given.operation.commutative
    order = f" ORDER BY {at}" if at in given.arguments else ""
    return f"list({'DISTINCT ' if each_once else ''}{{{inputs}}}{order})"


def combined(given: Input, columns: Sequence[str]) -> tuple[str, ...] | None:
    """The accumulator's columns over a group of accumulators; None if the operation has to combine them itself."""
    name = given.operation.name
    if name in ("count_rows", "count"):
        return (f"coalesce(sum({columns[0]}), 0)::BIGINT",)
    if name == "sum" and given.is_float:
        return (f"flatten(list({columns[0]}))",)
    if name == "sum":
        return (f"coalesce(sum({columns[0]}), 0)::{given.column_types[0]}",)
    if name in _PLAIN:
        return (_plain(given, columns[0]),)
    if name in _ORDERS:
        names = [column.name for column in given.operation.columns]
        entry = ", ".join(f"'{name}': {column}" for name, column in zip(names, columns, strict=True))
        return _first(given, entry, " AND ".join(f"{column} IS NOT NULL" for column in columns), dict(
            zip(names, columns, strict=True)))  # fmt: skip
    return None


def _plain(given: Input, value: str) -> str:
    folded = f"{given.operation.name}({value})"
    return folded if given.operation.identity is None else f"coalesce({folded}, {given.operation.identity})"


def _chosen(given: Input) -> tuple[str, ...]:
    *_, at = given.clean
    names = [column.name for column in given.operation.columns]
    value, by = given.clean[0], given.clean[1] if "by" in names else ""
    sources = {"value": value, "by": by, "at": at}
    entry = ", ".join(f"'{name}': {sources[name]}" for name in names)
    return _first(given, entry, _all_there([sources[name] for name in names]), sources)


def _first(given: Input, entry: str, condition: str, sources: dict[str, str]) -> tuple[str, ...]:
    """The columns of the first entry, in the order that decides."""
    order = ", ".join(
        f"{sources[name]} {direction}" for name, direction in (one.split() for one in _ORDERS[given.operation.name])
    )
    picked = f"first({{{entry}}} ORDER BY {order}) FILTER (WHERE {condition})"
    return tuple(f"({picked}).{column.name}" for column in given.operation.columns)


def _all_there(values: Sequence[str]) -> str:
    return " AND ".join(f"{value} IS NOT NULL" for value in values) or "true"


def _wide_sum(value: str, buckets: Sequence[int]) -> str:
    """A list of (bucket, units), without those that nothing fell into."""
    entries = ", ".join(
        f"{{'bucket': {bucket}::INTEGER, 'units': {_units(value, bucket)}::{_UNITS}}}" for bucket in sorted(buckets)
    )
    empty = f"[]::STRUCT(bucket INTEGER, units {_UNITS})[]"
    return f"list_filter([{entries}], lambda e: e.units IS NOT NULL AND e.units <> 0)" if entries else empty


def _units(value: str, bucket: int) -> str:
    if bucket in (BUCKET_INFINITE, BUCKET_NEGATIVE_INFINITE):
        sign = ">" if bucket == BUCKET_INFINITE else "<"
        return f"count(*) FILTER (WHERE isinf({value}) AND {value} {sign} 0)"
    half = -BUCKET_BITS * bucket / 2  # in two steps, as 2^(32 × 36) is no double
    scaled = f"{value}::DOUBLE * pow(2.0, {half}) * pow(2.0, {half})"
    # Where another bucket's value would be scaled beyond a whole number, CASE keeps it from being cast.
    mine = f"{value} <> 0 AND isfinite({value}) AND {bucket_of(value)} = {bucket}"
    return f"sum(CASE WHEN {mine} THEN CAST({scaled} AS HUGEINT) END)"
