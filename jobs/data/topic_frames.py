"""The messages of a topic as Spark reads them: for each slot exactly its offsets, each message parsed as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType, TimestampType

from tidewheel.indexing.core.definition import Source
from tidewheel.indexing.core.fates import TEXT_COLUMN
from tidewheel.indexing.core.offsets import OffsetRange
from tidewheel.indexing.core.slots import ranges_of
from tidewheel.indexing.core.topics import Reading
from tidewheel.indexing.errors import InvalidInput
from tidewheel.jobs.data.expressions import long, quoted
from tidewheel.jobs.data.topic_options import spark_options
from tidewheel.jobs.process.jars import require

# A message's parts beside its value, as SQL over what the connector gives, and their types.
_PARTS = {
    "key": ("make_valid_utf8(cast(key as string))", StringType()),
    "timestamp": ("timestamp", TimestampType()),
    "partition": ("partition", IntegerType()),
    "offset": ("offset", LongType()),
}
# A task reads this many messages at most: of a partition with more, several tasks read.
_TASK_MESSAGES_MAX = 1_000_000
_VALUE = "cast(value as string)"
# What JSON is not made of is malformed, but the text that is kept of it must be one.
_TEXT = f"make_valid_utf8(coalesce({_VALUE}, ''))"
_IS_NO_JSON = f"__tw_json is null or not is_valid_utf8({_VALUE})"


def topic_frames(spark: SparkSession, source: Source, readings: Mapping[int, Reading]) -> list[DataFrame]:
    """Return one frame for each run of slots that has messages, with `ins_slot`, under the names of the JSON."""
    require("kafka")
    runs = [{slot: readings[slot] for slot in range(first, last + 1)} for first, last in ranges_of(readings)]
    return [_parsed(spark, source, _read(spark, source, run)) for run in runs if any(one.there for one in run.values())]


def message_fields(source: Source) -> list[StructField]:
    """Return the columns that come from messages beside their values."""
    return [StructField(column, _PARTS[part][1]) for part, column in source.message.items()]


def with_message_columns(frame: DataFrame, source: Source) -> DataFrame:
    """Return the frame with the archive's names for parts of messages; the JSON's columns have theirs already."""
    names = {name.lower() for name in frame.columns}
    if twice := sorted(column for column in source.message.values() if column.lower() in names):
        raise InvalidInput(
            f"[source.message] gives a column the name {', '.join(twice)}, which the messages' JSON has",
            "choose another name, or rename the other column",
        )
    return frame.withColumnsRenamed({_marked(part): column for part, column in source.message.items()})


def _read(spark: SparkSession, source: Source, run: Mapping[int, Reading]) -> DataFrame:
    """Return the messages of adjacent slots, in one pass over each partition."""
    hull = _hull(run)
    first = {str(number): one[0] for number, one in hull.items()}
    end = {str(number): one[1] for number, one in hull.items()}
    frame = (
        spark.read.format("kafka")
        .options(**spark_options(source))
        .option("assign", json.dumps({source.topic: sorted(hull)}))
        .option("startingOffsets", json.dumps({source.topic: first}))
        .option("endingOffsets", json.dumps({source.topic: end}))
        .option("maxRecordsPerPartition", str(_TASK_MESSAGES_MAX))
        .option("failOnDataLoss", "true")
        .load()
    )
    if len(run) == 1:
        return frame.selectExpr("*", f"{long(*run)} as ins_slot")
    slots = spark.createDataFrame(
        [(number, *one, slot) for slot, reading in run.items() for number, one in reading.there.items()],
        "__tw_number int, __tw_first long, __tw_end long, ins_slot long",
    )
    own = "partition = __tw_number and offset >= __tw_first and offset < __tw_end"
    return frame.join(F.broadcast(slots), F.expr(own))


def _hull(run: Mapping[int, Reading]) -> dict[int, OffsetRange]:
    hull: dict[int, OffsetRange] = {}
    for reading in run.values():
        for number, (first, end) in reading.there.items():
            known_first, known_end = hull.get(number, (first, end))
            hull[number] = (min(first, known_first), max(end, known_end))
    return hull


def _parsed(spark: SparkSession, source: Source, frame: DataFrame) -> DataFrame:
    """Return the columns of the JSON, the text of broken messages, and the wanted parts of the message."""
    columns = spark.createDataFrame([], source.schema).schema
    schema = StructType([*columns.fields, StructField(TEXT_COLUMN, StringType())])
    parsed = F.from_json(F.expr(_VALUE), schema, {"columnNameOfCorruptRecord": TEXT_COLUMN})
    # Spark makes NULL of nothing, of blanks and of `null`, and does not call it malformed.
    text = f"if({_IS_NO_JSON}, {_TEXT}, __tw_json.{TEXT_COLUMN}) as {TEXT_COLUMN}"
    fields = [f"__tw_json.{quoted(field.name)} as {quoted(field.name)}" for field in columns.fields]
    parts = [f"{_PARTS[part][0]} as {_marked(part)}" for part in source.message]
    return frame.withColumn("__tw_json", parsed).selectExpr(*fields, text, *parts, "ins_slot")


def _marked(part: str) -> str:
    return f"__tw_message_{part}"
