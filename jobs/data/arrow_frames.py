"""Arrow tables as Spark frames: the only place where one is handed to Spark.

Spark reads a table batch by batch and takes an empty batch for the end: it would silently drop the rows after it. Empty
batches are usual, one for every file without a matching row.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

NUMBER = "__tw_number"


def numbered_frame(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """Return the rows as a frame, each with its place in the table as `__tw_number`."""
    numbered = rows.append_column(NUMBER, pa.array(range(rows.num_rows), pa.int64()))
    batches = [batch for batch in numbered.to_batches() if batch.num_rows]
    return spark.createDataFrame(pa.Table.from_batches(batches, numbered.schema))
