"""Rows as the frames of other libraries, none of which is needed before it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidewheel.indexing.extras import needed

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa


def pandas_frame(table: pa.Table) -> pandas.DataFrame:
    """Whole numbers stay whole: where a column has NULLs, pandas' own nullable types stand for numpy's."""
    import pyarrow as pa

    with needed("for data frames of pandas"):
        import pandas as pd
    whole = {
        pa.int8(): pd.Int8Dtype(),
        pa.int16(): pd.Int16Dtype(),
        pa.int32(): pd.Int32Dtype(),
        pa.int64(): pd.Int64Dtype(),
        pa.uint64(): pd.UInt64Dtype(),
    }
    lacking = {column.type for column in table.columns if column.null_count}
    return table.to_pandas(types_mapper=lambda kind: whole.get(kind) if kind in lacking else None)


def polars_frame(rows: Any) -> polars.DataFrame:
    """Return a Polars frame of any object that exports Arrow."""
    with needed("for data frames of Polars"):
        import polars as pl
    return pl.DataFrame(rows)
