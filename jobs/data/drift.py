"""A batch's columns compared with the archive's: they must be the same, except for columns that are added later.

Each frame is judged by itself, so that any grouping of slots into runs gives the same result. A column that was added
later may be missing, and reads as NULL; one that the archive began with may not.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructField, StructType

from tidewheel.indexing.core.receipts import Deed
from tidewheel.indexing.errors import InvalidInput
from tidewheel.jobs.data.schema import columns_of, refuse_unknown_kinds
from tidewheel.jobs.data.source_reader import ADDED_BY_READING
from tidewheel.storage.ledger_store import all_receipts
from tidewheel.storage.snapshot import ADDED_MARK, Snapshot

_OLD_NOTE = "new columns: "


def fitted(frames: Sequence[DataFrame], snapshot: Snapshot, policy: str) -> tuple[DataFrame, list[StructField]]:
    """Return the frames as one batch with the archive's columns, and the new columns that the policy takes."""
    known = {field.name: field.dataType for field in columns_of(snapshot).fields}
    found = [{f.name: f.dataType for f in frame.schema.fields if f.name not in ADDED_BY_READING} for frame in frames]
    absent = {name for one in found for name in known if name not in one}
    optional = added_columns(snapshot) if absent else frozenset()
    for one in found:
        _refuse_drift(one, known, optional, policy, snapshot.definition.name)
    new = _new_columns(found, known)
    refuse_unknown_kinds(StructType([*columns_of(snapshot).fields, *new]))
    wanted = known | {field.name: field.dataType for field in new}
    whole = [_filled(frame, one, wanted) for frame, one in zip(frames, found, strict=True)]
    return reduce(lambda left, right: left.unionByName(right), whole), new


def added_columns(snapshot: Snapshot) -> frozenset[str]:
    """Return the columns that came after the archive's first batches.

    Cost: nothing, or in old archives all receipts.
    """
    marked = {field.name for field in snapshot.columns if ADDED_MARK.items() <= dict(field.metadata).items()}
    notes = [receipt.note for _, receipt in all_receipts(snapshot) if receipt.operation is Deed.WIDEN]
    return frozenset(marked).union(*(note.removeprefix(_OLD_NOTE).split(", ") for note in notes))


def _refuse_drift(
    found: dict[str, DataType], known: dict[str, DataType], optional: Collection[str], policy: str, archive: str
) -> None:
    """Refuse a type that differs, a missing or an unwanted column, with both schemas; order does not count."""
    faults = _differences(found, known, optional)
    new = [column for column in found if column not in known]
    if policy != "add":
        faults += [f"{column} {found[column].simpleString()} is new" for column in new]
    if not faults:
        return
    remedy = "correct the source"
    if policy != "add" and new:
        remedy += ', or set [policy] new_column = "add" to take new columns'
    raise InvalidInput(
        f"the batch does not have the columns of archive {archive}: {'; '.join(faults)}. Nothing was changed.\n"
        f"  archive: {_said(known)}\n  batch:   {_said(found)}",
        remedy,
    )


def _differences(found: dict[str, DataType], known: dict[str, DataType], optional: Collection[str]) -> list[str]:
    missing = [f"{column} is missing" for column in known if column not in found and column not in optional]
    return missing + [
        f"{column} is {found[column].simpleString()}, not {kind.simpleString()}"
        for column, kind in known.items()
        if column in found and found[column].simpleString() != kind.simpleString()
    ]


def _new_columns(found: Sequence[dict[str, DataType]], known: Collection[str]) -> list[StructField]:
    """Return the columns that the archive lacks, each of one type in all frames."""
    new: dict[str, DataType] = {}
    for one in found:
        for name, kind in one.items():
            if name not in known and new.setdefault(name, kind).simpleString() != kind.simpleString():
                raise InvalidInput(
                    f"the new column {name} is {new[name].simpleString()} in one slot of the batch and "
                    f"{kind.simpleString()} in another. Nothing was changed",
                    "make it one type in the source, or bring the slots one by one",
                )
    return [StructField(name, kind, True) for name, kind in new.items()]


def _filled(frame: DataFrame, found: Collection[str], wanted: dict[str, DataType]) -> DataFrame:
    """Return the frame with NULL in the columns that it lacks."""
    absent = {name: F.lit(None).cast(kind) for name, kind in wanted.items() if name not in found}
    return frame.withColumns(absent) if absent else frame


def _said(columns: dict[str, DataType]) -> str:
    return ", ".join(f"{name} {kind.simpleString()}" for name, kind in columns.items())
