"""Live rows as a DataFrame of Spark, read through Delta: for what outgrows one machine."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidewheel.jobs.data.expressions import quoted
from tidewheel.storage.snapshot import Snapshot


def live_frame(spark: SparkSession, snapshot: Snapshot, as_of_us: int) -> DataFrame:
    """Return the records of one version that are alive at a moment. Files in which nothing is alive are not opened.

    It filters by the bounds of slots. Delta's bounds of moments have a millisecond to spare, which is too much at a
    slot's end.
    """
    reader = spark.read.format("delta").option("versionAsOf", snapshot.version)
    frame = reader.load(snapshot.location.spark_uri)
    shown = [F.col(quoted(field.name)) for field in snapshot.columns]
    alive = F.col("valid_until") > F.timestamp_micros(F.lit(as_of_us))
    not_over = F.col("exp_slot") >= snapshot.definition.axis.slot_of(as_of_us)
    return frame.where(alive & not_over).select(*shown, "ins_slot", "exp_slot", "valid_until")
