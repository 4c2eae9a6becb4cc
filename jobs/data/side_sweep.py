"""The rows of a side table that a forget selects, by Spark: their values are people's columns, or JSON of them."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, DataType, StringType, StructField, StructType

from tidewheel.commits.side_tables.side_table import SideTable
from tidewheel.indexing.core.plan_kinds import Selection
from tidewheel.jobs.data.arrow_frames import NUMBER, numbered_frame
from tidewheel.jobs.data.expressions import keyed_digest, quoted
from tidewheel.jobs.data.forget_selection import matched
from tidewheel.jobs.data.schema import columns_of
from tidewheel.jobs.process.session import open_session
from tidewheel.storage.snapshot import Snapshot

# What the archive adds to a stored record, one beside it does not have.
NOT_STORED = ("cast(null as bigint) as exp_slot", "cast(null as timestamp) as valid_until",
              "cast(null as bigint) as row_hash")  # fmt: skip


def selected_rows(side: SideTable, snapshot: Snapshot, selection: Selection, rows: pa.Table) -> dict[int, str]:
    """Return the positions of the rows whose records are selected, with the digests of these whole records."""
    spark, columns = open_session(), columns_of(snapshot)
    names = [side.record] if side.record else [name for name in columns.fieldNames() if name in rows.column_names]
    given = rows.select([side.slot, *names]).rename_columns(["ins_slot", *names])
    frame = numbered_frame(spark, given)
    frame = _from_json(frame, side.record, columns) if side.record else _whole(frame, columns)
    marked = matched(frame.selectExpr("*", *NOT_STORED), selection, spark, snapshot)
    digest = keyed_digest([column.name for column in snapshot.columns], snapshot.definition.salt)
    return {row[0]: row[1] for row in marked.where("__tw_forgotten").selectExpr(NUMBER, digest).collect()}


def _from_json(frame: DataFrame, column: str, columns: StructType) -> DataFrame:
    """Return people's columns from their JSON, in which bytes are written as hex digits."""
    written = StructType([StructField(f.name, _as_written(f)) for f in columns.fields])
    values = frame.withColumn("__tw_values", F.from_json(quoted(column), written))
    own = [
        f"{'unhex(' * hexed}__tw_values.{quoted(f.name)}{')' * hexed} as {quoted(f.name)}"
        for f in columns.fields
        for hexed in (isinstance(f.dataType, BinaryType),)
    ]
    return values.selectExpr(NUMBER, "ins_slot", *own)


def _as_written(field: StructField) -> DataType:
    return StringType() if isinstance(field.dataType, BinaryType) else field.dataType


def _whole(frame: DataFrame, columns: StructType) -> DataFrame:
    """Return the frame with NULL in the columns that came after it."""
    absent = {f.name: F.lit(None).cast(f.dataType) for f in columns.fields if f.name not in frame.columns}
    return frame.withColumns(absent) if absent else frame
