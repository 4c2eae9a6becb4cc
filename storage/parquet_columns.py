"""The columns of Parquet files that this process writes, and which of them get bounds."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.parquet as pq


def leaves(schema: pa.Schema) -> dict[str, str]:
    """Return the columns of a Parquet file by their paths, and how Parquet stores each."""
    empty = pa.BufferOutputStream()
    pq.write_metadata(schema, empty)
    metadata = pq.read_metadata(pa.BufferReader(empty.getvalue()))
    columns = [metadata.schema.column(i) for i in range(metadata.num_columns)]
    return {column.path: column.physical_type for column in columns}


def bounded(columns: Mapping[str, str]) -> list[str]:
    """Return the leaves whose values have a least and a greatest: all but floating point.

    Arrow leaves NaN out of bounds. DuckDB, for which NaN is the greatest number, believes them, and skips rows of NaN
    that a query asks for.
    """
    return [name for name, kind in columns.items() if kind not in ("FLOAT", "DOUBLE")]
