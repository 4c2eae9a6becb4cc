"""The Arrow types in which DuckDB gives values of its types."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pyarrow as pa

_KNOWN: dict[str, pa.DataType] = {}


def arrow_types_of(types: Sequence[str]) -> list[pa.DataType]:
    """The Arrow types of values of such types; DuckDB is asked once for each."""
    new = [kind for kind in dict.fromkeys(types) if kind not in _KNOWN]
    if new:
        with duckdb.connect(":memory:") as connection:
            connection.execute("SET TimeZone = 'UTC'")
            listed = ", ".join(f"NULL::{kind} AS c{number}" for number, kind in enumerate(new))
            found = connection.sql(f"SELECT {listed}").to_arrow_table().schema.types
        _KNOWN.update(zip(new, found, strict=True))
    return [_KNOWN[kind] for kind in types]
