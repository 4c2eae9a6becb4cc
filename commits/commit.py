"""One commit: an exact set of files in and out, head, watermark and receipt, as log entry version + 1 or not at all.

The entry is made by `storage/entry.py`, if it does not exist yet: whoever loses plans again on the fresh version.

Outcomes: committed (the new version), lost (`Conflict`), or `OutcomeUnknown` when the answer never came and the
log could not be read afterwards to see whether the attempt is in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from deltalake import DeltaTable, Field, Schema
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.schema import PrimitiveType
from pyarrow import ArrowException

from tidewheel.indexing.core.definition import STORED_COLUMNS, Definition
from tidewheel.indexing.core.receipts import Receipt
from tidewheel.indexing.core.slots import MICROS_PER_SECOND
from tidewheel.indexing.core.state import FileFact
from tidewheel.indexing.errors import Conflict, InvalidInput, OutcomeUnknown, TidewheelError
from tidewheel.indexing.printable import one_line
from tidewheel.storage.entry import NO_HOOKS, PARTITIONING, Entry, NewFile, entry_properties
from tidewheel.storage.ledger_store import receipts_after
from tidewheel.storage.location import Location
from tidewheel.storage.machine import machine_fault
from tidewheel.storage.snapshot import Snapshot, definition_field, open_snapshot
from tidewheel.storage.statistics_columns import PROPERTY as STATISTICS_PROPERTY
from tidewheel.storage.statistics_columns import stated


def create_table(location: Location, columns: Sequence[Field], definition: Definition, receipt: Receipt) -> Snapshot:
    """Create an empty archive: version 0, head 0, no watermark."""
    schema = Schema([*columns, *stored_fields(), definition_field(definition), *partition_fields()])
    try:
        DeltaTable.create(
            location.delta_uri,
            schema,
            mode="error",
            partition_by=PARTITIONING,
            name=definition.name,
            configuration=_table_properties(definition, schema),
            storage_options=location.storage_options,
            commit_properties=entry_properties(receipt, 0),
            post_commithook_properties=NO_HOOKS,
        )
    except DeltaError as error:
        if "exist" in str(error):
            raise taken(location) from error
        raise
    return open_snapshot(location)


def _table_properties(definition: Definition, schema: Schema) -> dict[str, str]:
    grace_s = -(-definition.retention.grace_us // MICROS_PER_SECOND)
    return {
        # The log is cleaned by vacuum, after its receipts are folded into the ledger; by nobody else.
        "delta.enableExpiredLogCleanup": "false",
        # How long checkpoints tell of files that went. Unsaid it would be a week, and most of what they hold.
        "delta.deletedFileRetentionDuration": f"interval {grace_s} seconds",
        STATISTICS_PROPERTY: ",".join(stated(schema.fields, definition.key)),
    }


def taken(location: Location) -> InvalidInput:
    return InvalidInput(
        f"there is already a table at {location.uri}", "choose another path, or use the archive that is there"
    )


def stored_fields() -> list[Field]:
    return [
        Field(name, PrimitiveType("timestamp" if name == "valid_until" else "long"), nullable=True)
        for name in STORED_COLUMNS
    ]


def partition_fields() -> list[Field]:
    return [Field(name, PrimitiveType("integer"), nullable=True) for name in ("g", "e")]


def commit(
    snapshot: Snapshot,
    receipt: Receipt,
    added: Iterable[NewFile],
    removed: Iterable[FileFact],
    schema: Schema | None = None,
) -> int:
    """Commit files in and out on top of the snapshot; return the version it became.

    With other columns, the removed files must be all files of some layouts, rows and columns
    (`indexing/core/plan_columns.py`).
    """
    other = None if schema is None or schema == snapshot.schema else schema
    return _create(snapshot, Entry(receipt, tuple(added), tuple(removed), other))


def commit_schema(snapshot: Snapshot, receipt: Receipt, schema: Schema) -> int:
    """Commit other columns or another definition; no file changes."""
    return commit(snapshot, receipt, (), (), schema)


def commit_properties(snapshot: Snapshot, receipt: Receipt, properties: Mapping[str, str]) -> int:
    """Commit other properties of the table; nothing else changes."""
    return _create(snapshot, Entry(receipt, properties=properties))


def commit_relocation(snapshot: Snapshot, receipt: Receipt, added: Iterable[NewFile], schema: Schema) -> int:
    """Commit another definition together with new files in place of all earlier ones."""
    return _create(snapshot, Entry(receipt, tuple(added), schema=schema, replaces_all=True))


def _create(snapshot: Snapshot, entry: Entry) -> int:
    """Create one entry of the log, or raise an error that says which of the outcomes it was."""
    receipt = entry.receipt
    if receipt.head != snapshot.head + 1:
        raise ValueError(f"receipt for head {receipt.head} cannot follow head {snapshot.head}")
    version = snapshot.version + 1
    try:
        snapshot.create_entry(entry)
    except Exception as error:
        later = _receipts_since(snapshot, receipt, error)
        if any(one.attempt == receipt.attempt and one.head == receipt.head for _, one in later):
            return version
        if later or isinstance(error, CommitFailedError):
            raise Conflict(
                f"version {version} of archive {snapshot.definition.name} was committed by somebody else first. "
                "This attempt changed nothing",
                "run the command again",
            ) from error
        doing = f"while version {version} of archive {snapshot.definition.name} was written"
        raise machine_fault(str(error), doing) or InvalidInput(
            f"version {version} of archive {snapshot.definition.name} could not be written: {one_line(str(error))}. "
            "Nothing was changed",
            "make room or give the right to write there, then run the command again",
        ) from error
    return version


def _receipts_since(snapshot: Snapshot, receipt: Receipt, error: Exception) -> list[tuple[int, Receipt]]:
    """Return the commits since the snapshot; one that raised may be among them.

    It may even have been reported as lost: when an object store's answer goes missing, the client sends the request
    once more, and then finds the entry that the first request made.
    """
    try:
        return receipts_after(snapshot.newest(), snapshot.version)
    except (TidewheelError, DeltaError, OSError, ArrowException) as unreadable:
        raise OutcomeUnknown(
            f"attempt {receipt.attempt} on archive {snapshot.definition.name} raised at its commit "
            f"({one_line(str(error))}), and the log cannot be read to see whether it landed "
            f"({one_line(str(getattr(unreadable, 'message', unreadable)))})",
            f"look for the attempt before anything else: {snapshot.location.command('history')}",
            attempt=receipt.attempt,
        ) from error
