"""Stored rows as Spark's frames: the remaining rows of rewritten files, placed where they belong."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField

from tidewheel.indexing.core.layouts import Generation
from tidewheel.indexing.core.plan import Plan
from tidewheel.jobs.data.expressions import column_of, listed, long, row_of
from tidewheel.jobs.data.schema import full_schema_of
from tidewheel.storage.snapshot import Snapshot


def kept_frames(spark: SparkSession, snapshot: Snapshot, plan: Plan, new: Sequence[StructField]) -> list[DataFrame]:
    """Return the remaining rows of the files that an update rewrites, by generation, each placed by its own."""
    kept = ["true"]
    if plan.watermark is not None:
        kept.append(f"exp_slot > {long(plan.watermark)}")
    if plan.slots:
        kept.append(f"ins_slot not in ({listed(plan.slots)})")
    files = [change.file for change in plan.rewritten]
    frames = []
    for number in sorted({file.generation for file in files}):
        paths = [file.path for file in files if file.generation == number]
        frame = read_files(spark, snapshot, paths, new).where(" and ".join(kept))
        frames.append(placed(frame, snapshot.definition.generation(number)))
    return frames


def read_files(spark: SparkSession, snapshot: Snapshot, paths: list[str], new: Sequence[StructField] = ()) -> DataFrame:
    """Return data files as rows, without the partition columns of their folders; new columns are NULL in them."""
    reader = spark.read.schema(full_schema_of(snapshot, new)).option("recursiveFileLookup", "true")
    return reader.parquet(*snapshot.location.spark_paths(paths))


def placed(frame: DataFrame, generation: Generation) -> DataFrame:
    """Return rows with the sub-index they belong to under a generation."""
    layout = generation.layout
    return frame.selectExpr(
        "*", f"{generation.number} as layout", f"{row_of(layout)} as g", f"{column_of(layout)} as e"
    )
