"""In which type a query's value is stored: Delta tables of the first reader version lack some that DuckDB has."""

from __future__ import annotations

from functools import lru_cache

import duckdb
from duckdb.sqltypes import DuckDBPyType

from tidewheel.indexing.errors import InvalidInput
from tidewheel.sql.engine.quoting import quote_identifier

# By the ids of DuckDB's types: those that a table has, and what holds the values of some that it has not.
_KEPT = (
    "boolean", "tinyint", "smallint", "integer", "bigint", "float", "double", "decimal", "varchar", "blob", "date",
    "timestamp with time zone",
)  # fmt: skip
_WIDER = {
    "utinyint": "SMALLINT", "usmallint": "INTEGER", "uinteger": "BIGINT",
    "ubigint": "DECIMAL(38,0)", "hugeint": "DECIMAL(38,0)",
}  # fmt: skip


@lru_cache(maxsize=10_000)
def stored_type(sql_type: str) -> str:
    """The type in which a column of that type is stored.

    >>> stored_type("TIMESTAMP WITH TIME ZONE")
    'TIMESTAMP WITH TIME ZONE'
    >>> stored_type("STRUCT(a UTINYINT, b DATE)[]")
    'STRUCT("a" SMALLINT, "b" DATE)[]'
    >>> stored_type("STRUCT")
    Traceback (most recent call last):
    tidewheel.indexing.errors.InvalidInput: a value of type STRUCT cannot be kept in a Delta table
      what to do: cast it, for example to VARCHAR, or a moment to TIMESTAMPTZ
    """
    if sql_type.lower() in _KEPT:
        return sql_type
    try:
        with duckdb.connect(":memory:") as connection:
            (kind,) = connection.sql(f"SELECT NULL::{sql_type}").types
    except duckdb.Error as error:  # of a program with another DuckDB
        raise InvalidInput(f"there is no type {sql_type}", "cast it to another one") from error
    if not _is_kept(kind):
        raise InvalidInput(
            f"a value of type {sql_type} cannot be kept in a Delta table",
            "cast it, for example to VARCHAR, or a moment to TIMESTAMPTZ",
        )
    return _stored(kind)


def _is_kept(kind: DuckDBPyType) -> bool:
    if kind.id in ("list", "struct"):
        children = _children(kind)
        return bool(children) and all(_is_kept(child) for _, child in children)
    return kind.id in (*_KEPT, *_WIDER) and str(kind) != "JSON"


def _stored(kind: DuckDBPyType) -> str:
    if kind.id == "list":
        return f"{_stored(_children(kind)[0][1])}[]"
    if kind.id == "struct":
        return f"STRUCT({', '.join(f'{quote_identifier(name)} {_stored(child)}' for name, child in _children(kind))})"
    return _WIDER.get(kind.id, str(kind))


def _children(kind: DuckDBPyType) -> list[tuple[str, DuckDBPyType]]:
    """The types that a list or a struct is made of."""
    return [(name, child) for name, child in kind.children if isinstance(child, DuckDBPyType)]
