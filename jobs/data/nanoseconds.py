"""Parquet files whose moments are whole nanoseconds, as pandas writes them: read to the microsecond.

Spark knows no such moments. With an option it reads them as numbers, and the files' footers say which columns these
are. A moment is cut off, never rounded up, so no life is prolonged.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.types import LongType, StructField, StructType

from tidewheel.indexing.core.definition import Source
from tidewheel.indexing.errors import InvalidInput
from tidewheel.jobs.data.expressions import floor_divided, quoted

_NANOS = "TIMESTAMP(NANOS"
_REMEDY = 'write all of them alike; from pandas in microseconds: to_parquet(..., coerce_timestamps="us")'


def with_moments(
    spark: SparkSession, source: Source, reader: DataFrameReader, frame: DataFrame, path: str | None
) -> DataFrame:
    """Return Spark's frame of Parquet files, with columns of nanoseconds as moments. Cost: one footer, as a rule."""
    nanos = _nanos_in(spark, frame.inputFiles())
    return _moments_of(reader, source, path, nanos) if nanos else frame


def _nanos_in(spark: SparkSession, addresses: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of nanoseconds in files. Cost: one footer; all of them if it has any."""
    ordered = sorted(addresses)
    kinds = (one for one in (_nanos_of(spark, _path(spark, address)) for address in ordered) if one is not None)
    first = next(kinds, ())
    if first and any(one != first for one in kinds):
        raise InvalidInput(
            f"the files beside {_named(spark, ordered[0])} have moments of nanoseconds in other columns than it has "
            f"({', '.join(first)}). Nothing was changed",
            _REMEDY,
        )
    nested = [name for name in first if "." in name]
    if nested:
        raise InvalidInput(
            f"{_named(spark, ordered[0])} has moments of nanoseconds within others: {', '.join(nested)}. "
            "Nothing was changed",
            _REMEDY,
        )
    return first


def _moments_of(reader: DataFrameReader, source: Source, path: str | None, nanos: Collection[str]) -> DataFrame:
    """Return the frame with columns of nanoseconds as moments; as numbers where the schema asks for that."""
    if source.schema:
        asked = reader.schema(source.schema).load(path).schema
        plain = StructType([StructField(f.name, LongType()) if f.name in nanos else f for f in asked])
        nanos = [f.name for f in asked if f.name in nanos and not isinstance(f.dataType, LongType)]
        reader = reader.schema(plain)
    frame = reader.load(path)
    micros = {name: f"timestamp_micros({floor_divided(quoted(name), 1000)})" for name in nanos}
    return frame.selectExpr(*(f"{micros.get(one, quoted(one))} as {quoted(one)}" for one in frame.columns))


def _nanos_of(spark: SparkSession, path: Any) -> tuple[str, ...] | None:
    """Return the columns of nanoseconds in a file; None for one of no bytes, which Spark skips.

    Every update asks, and every call into the JVM takes time: the columns are walked only if there are such.
    """
    file = _java_class(spark, "org.apache.parquet.hadoop.util.HadoopInputFile").fromPath(
        path,
        spark._jsc.hadoopConfiguration(),
    )
    if not file.getLength():
        return None
    reader = _java_class(spark, "org.apache.parquet.hadoop.ParquetFileReader").open(file)
    try:
        schema = reader.getFileMetaData().getSchema()
        if _NANOS not in schema.toString():
            return ()
        columns = schema.getColumns()
        kinds = [(".".join(one.getPath()), one.getPrimitiveType().getLogicalTypeAnnotation()) for one in columns]
    finally:
        reader.close()
    return tuple(name for name, kind in kinds if kind is not None and kind.toString().startswith(_NANOS))


def _path(spark: SparkSession, address: str) -> Any:
    return _java_class(spark, "org.apache.hadoop.fs.Path")(_java_class(spark, "java.net.URI")(address))


def _java_class(spark: SparkSession, name: str) -> Any:
    """Return a class, asked for by its whole name: that is one call, where every dot would be one."""
    return getattr(spark._jvm, name)


def _named(spark: SparkSession, address: str) -> str:
    return str(_path(spark, address).toString()).removeprefix("file:")
