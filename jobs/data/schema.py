"""The columns of an archive, as Spark, Delta and the files know them."""

from __future__ import annotations

import json
from collections.abc import Sequence

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

from tidewheel.indexing.core.definition import PARTITION_COLUMNS
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.printable import printable
from tidewheel.jobs.data.source_reader import ADDED_BY_READING
from tidewheel.storage.snapshot import Snapshot

_NAME_REFUSED = frozenset(" ,;{}()=")


def columns_of(snapshot: Snapshot) -> StructType:
    """Return the columns people put in, as Spark types."""
    fields = [json.loads(field.to_json()) for field in snapshot.columns]
    return StructType.fromJson({"type": "struct", "fields": fields})


def full_schema_of(snapshot: Snapshot, new: Sequence[StructField] = ()) -> StructType:
    """Return every column of a data file: people's, then tidewheel's; all nullable, as files may be older."""
    fields = [json.loads(field.to_json()) for field in snapshot.schema.fields if field.name not in PARTITION_COLUMNS]
    known = StructType.fromJson({"type": "struct", "fields": fields}).fields
    after = len(snapshot.columns)
    return StructType([StructField(f.name, f.dataType, True) for f in (*known[:after], *new, *known[after:])])


def delta_fields(schema: StructType) -> list[Field]:
    """Return Spark's columns as Delta's, without those that reading adds, all nullable, without metadata."""
    plain = StructType([StructField(f.name, f.dataType, True) for f in schema.fields if f.name not in ADDED_BY_READING])
    refuse_unknown_kinds(plain)
    return list(Schema.from_json(plain.json()).fields)


def refuse_unknown_kinds(schema: StructType) -> None:
    """Refuse columns whose kind the table cannot hold, all of them at once."""
    bad = [f"{f.name} {f.dataType.simpleString()}" for f in schema.fields if not _is_known(f.dataType)]
    names = [f.name.lower() for f in schema.fields]
    if bad:
        raise InvalidInput(
            f"columns of a kind that an archive cannot hold: {', '.join(bad)}. Nothing was changed",
            "cast them in the source: timestamps need a time zone, every column a type, and a map becomes an array by "
            "map_entries()",
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidInput(f"columns that appear twice (case aside): {', '.join(twice)}", "rename them in the source")
    odd = sorted(f.name for f in schema.fields if set(f.name) & _NAME_REFUSED or printable(f.name) != f.name)
    if odd:
        raise InvalidInput(
            f"column names with characters that Parquet refuses: {', '.join(map(repr, odd))}",
            "rename them under [source.rename] (no spaces, no control characters and none of , ; { } ( ) =)",
        )


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
