"""The source: one DataFrame for a batch of slots, each record tagged with its slot, and its lineage.

Whatever the kind, a run over several slots is the union of its single-slot batches, so any grouping of slots into runs
brings the same records.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType, TimestampNTZType

from tidewheel.indexing.archive_file.source_paths import path_for_slot
from tidewheel.indexing.core.definition import RESERVED_COLUMNS, ArchiveFile, Source, SourceKind
from tidewheel.indexing.core.fates import TEXT_COLUMN
from tidewheel.indexing.core.offsets import SlotOffsets, ranges_text
from tidewheel.indexing.core.slots import iso, moment, ranges_of
from tidewheel.indexing.core.topics import readings
from tidewheel.indexing.errors import InvalidInput, TidewheelError
from tidewheel.jobs.data.expressions import long, quoted, slot_of
from tidewheel.jobs.data.source_files import FILE_FORMATS, Listing, list_files, refuse_unwritten
from tidewheel.jobs.data.source_reader import TEXT_FORMATS, loaded, options_of, place_of
from tidewheel.jobs.data.topic_client import asked
from tidewheel.jobs.data.topic_frames import message_fields, topic_frames, with_message_columns
from tidewheel.jobs.process.java import first_line
from tidewheel.storage.machine import machine_fault

MISSING_NAMED_MAX = 5


@dataclass(frozen=True)
class SourceBatch:
    """The records of some slots with their `ins_slot`, as the source gives them, and the lineage of each slot.

    Frames may differ in their columns: a source changes over time.
    """

    frames: tuple[DataFrame, ...]
    lineage: Mapping[int, tuple[str, ...]]
    offsets: Mapping[int, SlotOffsets] = field(default_factory=dict)
    listings: tuple[Listing, ...] = ()


@dataclass(frozen=True)
class Seen:
    """The facts that cut a topic into slots: the offsets of slots that were read before, and now."""

    offsets: Mapping[int, SlotOffsets]
    now_us: int


def read_batch(
    spark: SparkSession,
    file: ArchiveFile,
    slots: Sequence[int],
    schema: StructType | None = None,
    seen: Seen | None = None,
) -> SourceBatch:
    """Return the batch of the slots; `schema` is for an empty source, `seen` cuts a topic into slots."""
    readers = {
        SourceKind.FILES: _read_files,
        SourceKind.READER: _read_interval,
        SourceKind.PYTHON: _read_python,
    }
    try:
        if file.source.kind is SourceKind.TOPIC:
            batch = _read_topic(spark, file, slots, seen)
        else:
            batch = readers[file.source.kind](spark, file, slots, schema.fieldNames() if schema else ())
    except TidewheelError:
        raise
    except (PySparkException, Py4JJavaError) as error:
        raise unreadable(file, error) from error
    frames = batch.frames or (_empty(spark, file, schema),)
    return replace(batch, frames=tuple(_cleaned(frame, file) for frame in frames))


def refuse_missing(file: ArchiveFile, slots: Sequence[int], found: Collection[int]) -> None:
    """Refuse slots for which a reader gave no row. It is asked once for all slots: the rows show which have data."""
    source, axis = file.source, file.axis
    absent = [slot for slot in slots if slot not in found]
    if source.kind is not SourceKind.READER or source.missing != "fail" or not absent:
        return
    names = ", ".join(map(axis.name, absent[:MISSING_NAMED_MAX]))
    more = f" and {len(absent) - MISSING_NAMED_MAX} more" if len(absent) > MISSING_NAMED_MAX else ""
    raise InvalidInput(
        f"the source has no row of slot {names}{more}: none with a {source.time_column} in it. Nothing was changed",
        'wait for the data, correct [source], or set [source] missing = "empty"',
        slots=absent,
    )


def unreadable(file: ArchiveFile, error: Exception) -> TidewheelError:
    """Return the error for a source that Spark cannot read, in one sentence."""
    said = first_line(error)
    return machine_fault(str(error), f"while reading the source of archive {file.name}", said) or InvalidInput(
        f"the source of archive {file.name} cannot be read: {said}. Nothing was changed",
        "check the files and [source] in the archive file, then run the command again",
    )


def _read_files(spark: SparkSession, file: ArchiveFile, slots: Sequence[int], known: Collection[str]) -> SourceBatch:
    source, axis = file.source, file.axis
    options = options_of(source)
    frames, lineage, listings = [], {}, []
    for slot in slots:
        path = path_for_slot(source.path, axis.start_us(slot), axis.end_us(slot), slot)
        listed = Listing(path, list_files(spark, path), slot)
        lineage[slot] = listed.lineage
        refuse_unwritten(source, axis.name(slot), listed)
        if listed.files:
            frame = loaded(spark, source, options, known, path)
            listings.append(replace(listed, frame=frame))
            frames.append(_renamed(frame, source).selectExpr("*", f"{long(slot)} as ins_slot"))
        elif source.missing == "fail":
            raise InvalidInput(
                f"the source of slot {axis.name(slot)} has no files at {path}. Nothing was changed",
                'wait for the data, correct [source] path, or set [source] missing = "empty"',
                slot=slot,
                path=path,
            )
    return SourceBatch(tuple(frames), lineage, listings=tuple(listings))


def _read_interval(spark: SparkSession, file: ArchiveFile, slots: Sequence[int], known: Collection[str]) -> SourceBatch:
    source, axis = file.source, file.axis
    options = options_of(source)
    listings = _listed_anywhere(spark, source, options)
    frame = _renamed(loaded(spark, source, options, known), source)
    if source.time_column not in frame.columns:
        raise InvalidInput(
            f"[source] time_column = {source.time_column!r} is not among the columns {', '.join(frame.columns)}",
            "correct time_column in the archive file",
        )
    at = F.col(quoted(source.time_column))
    wanted = F.lit(False)
    for first, last in ranges_of(slots):
        wanted = wanted | ((at >= F.lit(moment(axis.start_us(first)))) & (at < F.lit(moment(axis.end_us(last)))))
    slot = slot_of(f"unix_micros(cast({quoted(source.time_column)} as timestamp))", axis)
    frame = frame.where(wanted).selectExpr("*", f"{slot} as ins_slot")
    place = place_of(source, options)
    said = {s: (f"{place} {iso(axis.start_us(s))}/{iso(axis.end_us(s))}",) for s in slots}
    return SourceBatch((frame,), said, listings=listings)


def _listed_anywhere(spark: SparkSession, source: Source, options: Mapping[str, str]) -> tuple[Listing, ...]:
    """Return the files of a reader's path, where it reads files; their slots are known once they are read."""
    path = {key.lower(): value for key, value in options.items()}.get("path")
    if not path or source.format.lower() not in FILE_FORMATS:
        return ()
    return (Listing(path, list_files(spark, path)),)


def _read_python(spark: SparkSession, file: ArchiveFile, slots: Sequence[int], known: Collection[str]) -> SourceBatch:
    function = _callable(file.source.callable)
    frames = []
    for slot in slots:
        frame = function(spark, moment(file.axis.start_us(slot)), moment(file.axis.end_us(slot)))
        if frame is None and file.source.missing == "fail":
            raise InvalidInput(
                f"{file.source.callable} returned nothing for slot {file.axis.name(slot)}. Nothing was changed",
                'return a DataFrame, or set [source] missing = "empty"',
            )
        if frame is not None:
            frames.append(_renamed(frame, file.source).selectExpr("*", f"{long(slot)} as ins_slot"))
    return SourceBatch(tuple(frames), dict.fromkeys(slots, (file.source.callable,)))


def _read_topic(spark: SparkSession, file: ArchiveFile, slots: Sequence[int], seen: Seen | None) -> SourceBatch:
    assert seen is not None, "where a topic is cut depends on what was read of it"
    found = readings(file, asked(file, slots, seen.now_us), slots, seen.offsets)
    frames = [_renamed(frame, file.source) for frame in topic_frames(spark, file.source, found)]
    frames = [with_message_columns(frame, file.source) for frame in frames]
    lineage = {slot: (f"topic {one.offsets.topic} {ranges_text(one.offsets.ranges)}",) for slot, one in found.items()}
    return SourceBatch(tuple(frames), lineage, {slot: one.offsets for slot, one in found.items()})


def _callable(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(":")
    try:
        found: Callable[..., Any] = getattr(import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise InvalidInput(
            f"[source] callable = {name!r} cannot be imported: {error}",
            'give "package.module:function", importable where the job runs',
        ) from error
    return found


def _empty(spark: SparkSession, file: ArchiveFile, schema: StructType | None) -> DataFrame:
    """Return a batch without records."""
    if schema is None and file.source.schema:
        schema = columns_declared(spark, file.source)
    if schema is None:
        raise InvalidInput(
            f"the source of archive {file.name} has no data to learn its columns from",
            "name a slot that has data, or set [source] schema in the archive file",
        )
    return spark.createDataFrame([], schema).selectExpr("*", "0L as ins_slot")


def columns_declared(spark: SparkSession, source: Source) -> StructType:
    """Return the columns of the schema in the archive file, under the archive's names for them."""
    named = _renamed(spark.createDataFrame([], source.schema), source).schema
    return StructType([*named.fields, *message_fields(source)])


def _renamed(frame: DataFrame, source: Source) -> DataFrame:
    """Return the frame with the archive's names for columns; Spark ignores the case of names."""
    found = {name.lower() for name in frame.columns}
    gone = {name.lower() for name in source.rename}
    taken = [new for old, new in source.rename.items() if old.lower() in found and new.lower() in found - gone]
    if taken:
        raise InvalidInput(
            f"[source] rename gives a column the name {', '.join(taken)}, which another column has",
            "choose another name, or rename the other column as well",
        )
    return frame.withColumnsRenamed(dict(source.rename)) if source.rename else frame


def _cleaned(frame: DataFrame, file: ArchiveFile) -> DataFrame:
    """Check column names, and read timestamps without a zone as UTC."""
    names = [name for name in frame.columns if name != "ins_slot" or frame.columns.count("ins_slot") > 1]
    own = {TEXT_COLUMN} if file.source.format in (*TEXT_FORMATS, "kafka") else set()
    taken = sorted({n for n in names if n.lower() in RESERVED_COLUMNS or n.startswith("__tw_")} - own)
    if taken:
        raise InvalidInput(
            f"the source of archive {file.name} has columns named {', '.join(taken)}, which the archive uses itself",
            f'take them under other names: [source] rename = {{ {taken[0]} = "{taken[0]}_" }}',
        )
    zoned = {
        field.name: F.expr(quoted(field.name)).cast("timestamp")
        for field in frame.schema.fields
        if isinstance(field.dataType, TimestampNTZType)
    }
    return frame.withColumns(zoned) if zoned else frame
