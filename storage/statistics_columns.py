"""Columns with statistics in the log, named in a property of the table, for readers who rely on it.

deltalake's pyarrow datasets believe that every column has bounds in every file unless this property names those that
do. Missing bounds are NULL to them, and a filter on such a column then finds nothing. So the property names exactly the
columns that have bounds in every file: tidewheel's own, and those of the key whose kind has an order that all readers
share.

Columns with fields of their own are named as well, field by field, although they have none: delta-rs 1.6.6 otherwise
loses the statistics of all columns that follow. Its datasets do not look for bounds of fields.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from deltalake import Field
from deltalake.schema import PrimitiveType, StructType

from tidewheel.storage.snapshot import Snapshot

PROPERTY = "delta.dataSkippingStatsColumns"
OWN_COLUMNS = ("ins_slot", "exp_slot", "valid_until")
KINDS_WITH_STATISTICS = frozenset({"string", "long", "integer", "short", "byte", "date", "timestamp"})


def stated(fields: Iterable[Field], key: Sequence[str], without: Collection[str] = ()) -> list[str]:
    """Return the names in the property, for a table of these columns; `without` are those that a file has none of.

    >>> fields = [Field("key", "string"), Field("ratio", "double"), Field("ins_slot", "long")]
    >>> stated(fields, ["key", "ratio"])
    ['key', 'ins_slot']
    """
    names = []
    for field in fields:
        if isinstance(field.type, StructType):
            names += _paths(field, "")
        elif field.name in (*key, *OWN_COLUMNS) and field.name not in without and _has_kind(field):
            names.append(_quoted(field.name))
    return names


def to_state(snapshot: Snapshot, new: Sequence[Field] = (), without: Collection[str] = ()) -> str | None:
    """Return the new value of the property, before `new` columns and files `without` some; None if it is right.

    A column that was taken out stays out: the log no longer says which files have statistics of it.
    """
    configured = snapshot.table.metadata().configuration.get(PROPERTY)
    now = None if configured is None else configured.split(",")
    lacking = {*without, *_lacking(snapshot)}
    if now is not None and snapshot.adds.num_rows:
        lacking |= {name for name in snapshot.definition.key if _quoted(name) not in now}
    wanted = stated([*snapshot.schema.fields, *new], snapshot.definition.key, lacking)
    if now is not None and set(wanted) <= set(now) and not {_quoted(name) for name in lacking} & set(now):
        return None
    return ",".join(wanted)


def _lacking(snapshot: Snapshot) -> set[str]:
    """Return the columns without bounds in some file of the log, as far as it is read."""
    adds = snapshot.adds
    return {
        name
        for name in (*snapshot.definition.key, *OWN_COLUMNS)
        if f"min.{name}" in adds.column_names and adds.column(f"min.{name}").null_count
    }


def _paths(field: Field, prefix: str) -> list[str]:
    """Return the fields of a struct that could have bounds, and at least one of every struct within."""
    path = prefix + _quoted(field.name)
    if not isinstance(field.type, StructType):
        return [path] if isinstance(field.type, PrimitiveType) else []
    named = [name for child in field.type.fields for name in _paths(child, f"{path}.")]
    return named or [f"{path}.{_quoted(child.name)}" for child in field.type.fields[:1]]


def _has_kind(field: Field) -> bool:
    return isinstance(field.type, PrimitiveType) and str(field.type.type) in KINDS_WITH_STATISTICS


def _quoted(name: str) -> str:
    """Return a name as the property writes it."""
    return name if name.replace("_", "a").isalnum() and name.isascii() else f"`{name.replace('`', '``')}`"
