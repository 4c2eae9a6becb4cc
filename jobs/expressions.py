"""The pure core's arithmetic as Spark expressions: slots, classes, row hash, digest of a key."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidewheel.indexing.layouts import Layout, LayoutKind
from tidewheel.indexing.slots import TimeAxis


def floor_divided(value: Column, divisor: int) -> Column:
    """Mathematical floor division; Spark's own truncates towards zero."""
    return F.call_function("div", value - F.pmod(value, F.lit(divisor)), F.lit(divisor)).cast("long")


def slot_of(micros: Column, axis: TimeAxis) -> Column:
    return floor_divided(micros - F.lit(axis.epoch_us), axis.interval_us)


def expiration_slot_of(micros: Column, axis: TimeAxis) -> Column:
    """ceil(x / Δ) − 1, which for whole x is floor((x − 1) / Δ)."""
    return floor_divided(micros - F.lit(axis.epoch_us + 1), axis.interval_us)


def row_of(layout: Layout, insertion_slot: Column) -> Column:
    return _class_of(layout, insertion_slot, layout.insertion_classes, "insertion")


def column_of(layout: Layout, expiration_slot: Column) -> Column:
    return _class_of(layout, expiration_slot, layout.expiration_classes, "expiration")


def _class_of(layout: Layout, slot: Column, classes: int, axis: str) -> Column:
    if classes == 1:
        return F.lit(0)
    if layout.kind is LayoutKind.ROUND_ROBIN:
        return F.pmod(slot, F.lit(classes)).cast("int")
    if layout.kind is LayoutKind.RANDOMIZED:
        digest = F.sha2(F.concat(F.lit(f"{layout.seed}:{axis}:"), slot.cast("string")), 256)
        return F.pmod(F.conv(F.substring(digest, 1, 8), 16, 10).cast("long"), F.lit(classes)).cast("int")
    return floor_divided(F.pmod(slot, F.lit(layout.span)) * F.lit(classes), layout.span).cast("int")


def row_hash(columns: Sequence[str]) -> Column:
    """A hash of a stored row: when it ends, its slot, and the values of the columns people put in, with positions.

    NULLs leave both out, so a column that is added later, behind the others, does not change the hash of the rows
    that are there. The two columns of tidewheel's own come first: their positions must not move then.
    """
    parts: list[Column] = []
    for position, name in enumerate(("valid_until", "ins_slot", *columns)):
        value = F.col(quoted(name))
        parts += [value, F.when(value.isNotNull(), F.lit(position))]
    return F.xxhash64(*parts)


def keyed_digest(columns: Sequence[str], salt: str) -> Column:
    """The digest by which a tombstone knows a record: keyed with the archive's salt, never the value itself."""
    values = F.to_json(F.struct(*[F.col(quoted(name)) for name in columns]), {"ignoreNullFields": "false"})
    return F.substring(F.sha2(F.concat(F.lit(salt), values), 256), 1, 32)


def quoted(name: str) -> str:
    """A column name for Spark, whatever it contains."""
    return "`" + name.replace("`", "``") + "`"
