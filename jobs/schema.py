"""The columns of an archive: asserted exactly before anything is written, widened only when told to."""

from __future__ import annotations

import json

from deltalake import Field, Schema
from pyspark.sql.types import (
    ArrayType,
    DataType,
    MapType,
    NullType,
    StructField,
    StructType,
    TimestampNTZType,
)

from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.printable import printable
from tidewheel.storage.snapshot import Snapshot

_NAME_REFUSED = frozenset(" ,;{}()=")


def columns_of(snapshot: Snapshot) -> StructType:
    """The columns people put in, as Spark types."""
    fields = [json.loads(field.to_json()) for field in snapshot.columns]
    return StructType.fromJson({"type": "struct", "fields": fields})


def full_schema_of(snapshot: Snapshot) -> StructType:
    """Every column of a data file: those people put in, then tidewheel's; all nullable, as files may be older."""
    fields = [json.loads(field.to_json()) for field in snapshot.schema.fields]
    inside = [f for f in fields if f["name"] not in ("layout", "g", "e")]
    return StructType(
        [
            StructField(f.name, f.dataType, True)
            for f in StructType.fromJson({"type": "struct", "fields": inside}).fields
        ]
    )


def delta_fields(schema: StructType) -> list[Field]:
    """Spark's columns as Delta's, without `ins_slot`, all nullable, without metadata."""
    plain = StructType([StructField(f.name, f.dataType, True) for f in schema.fields if f.name != "ins_slot"])
    refuse_unknown_kinds(plain)
    return list(Schema.from_json(plain.json()).fields)


def refuse_unknown_kinds(schema: StructType) -> None:
    """Refuse columns whose kind the table cannot hold, all of them at once."""
    bad = [f"{f.name} {f.dataType.simpleString()}" for f in schema.fields if not _is_known(f.dataType)]
    names = [f.name.lower() for f in schema.fields]
    if bad:
        raise InvalidInput(
            f"columns of a kind that an archive cannot hold: {', '.join(bad)}. Nothing was changed",
            "cast them in the source; timestamps need a time zone, and every column a type",
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidInput(f"columns that appear twice (case aside): {', '.join(twice)}", "rename them in the source")
    odd = sorted(f.name for f in schema.fields if set(f.name) & _NAME_REFUSED or printable(f.name) != f.name)
    if odd:
        raise InvalidInput(
            f"column names with characters that Parquet refuses: {', '.join(map(repr, odd))}",
            "rename them in the source (no spaces, no control characters and none of , ; { } ( ) =)",
        )


def added_columns(batch: StructType, archive: StructType, policy: str, name: str) -> list[StructField]:
    """Check a batch's columns against the archive's; the new ones, if the policy adds them.

    Order does not count, nullability neither; a type that differs or a missing column is refused with both.
    """
    known = {field.name: field.dataType for field in archive.fields}
    found = {field.name: field.dataType for field in batch.fields if field.name != "ins_slot"}
    faults = [f"{column} is missing" for column in known if column not in found]
    faults += [
        f"{column} is {found[column].simpleString()}, not {known[column].simpleString()}"
        for column in known
        if column in found and _shape(found[column]) != _shape(known[column])
    ]
    new = [StructField(column, kind, True) for column, kind in found.items() if column not in known]
    if policy != "add":
        faults += [f"{field.name} {field.dataType.simpleString()} is new" for field in new]
    if faults:
        remedy = "correct the source"
        if policy != "add" and new:
            remedy += ', or set [policy] new_column = "add" to take new columns'
        raise InvalidInput(
            f"the batch does not have the columns of archive {name}: {'; '.join(faults)}. Nothing was changed.\n"
            f"  archive: {_said(known)}\n  batch:   {_said(found)}",
            remedy,
        )
    refuse_unknown_kinds(StructType([*archive.fields, *new]))
    return new


def _said(columns: dict[str, DataType]) -> str:
    return ", ".join(f"{name} {kind.simpleString()}" for name, kind in columns.items())


def _shape(kind: DataType) -> str:
    """A type without nullability, which batches may differ in."""
    return kind.simpleString()


def _is_known(kind: DataType) -> bool:
    if isinstance(kind, ArrayType):
        return _is_known(kind.elementType)
    if isinstance(kind, MapType):
        return False
    if isinstance(kind, StructType):
        return all(_is_known(field.dataType) for field in kind.fields)
    if isinstance(kind, NullType | TimestampNTZType):
        return False
    return kind.simpleString().split("(")[0] in (
        "string", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "date",
        "timestamp", "binary",
    )  # fmt: skip
