"""One commit: an exact set of files in and out, head, watermark and receipt, as log entry version + 1 or not at all.

No public Spark call commits an exact set of added and removed files, so Spark writes the files and delta-rs
creates the log entry. It does so only if the entry does not exist yet, locally by a hard link and on object stores
by a conditional PUT, and it is told not to retry: whoever loses plans again on the fresh version.

Outcomes: committed (the new version), lost (`Conflict`), or `OutcomeUnknown` when the answer never came and the
log could not be read afterwards to see whether the attempt is in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from deltalake import CommitProperties, DeltaTable, Field, PostCommitHookProperties, Schema
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.schema import PrimitiveType
from deltalake.transaction import AddAction, RemoveAction, Transaction

from tidewheel.indexing.definition import PARTITION_COLUMNS, STORED_COLUMNS, Definition
from tidewheel.indexing.errors import Conflict, InvalidInput, OutcomeUnknown, TidewheelError
from tidewheel.indexing.plan_columns import partitions_of
from tidewheel.indexing.printable import one_line
from tidewheel.indexing.receipts import Receipt
from tidewheel.indexing.slots import MICROS_PER_SECOND
from tidewheel.indexing.state import FileFact
from tidewheel.storage.ledger_store import receipts_after
from tidewheel.storage.location import Location
from tidewheel.storage.snapshot import (
    DEFINITION_KEY,
    DIGEST_MODULUS,
    FILES_ID,
    HEAD_ID,
    WATERMARK_ID,
    Snapshot,
    definition_field,
    digest_of,
    open_snapshot,
    watermark_to_transaction,
)
from tidewheel.storage.statistics_columns import PROPERTY as STATISTICS_PROPERTY
from tidewheel.storage.statistics_columns import stated

PARTITIONING = list(PARTITION_COLUMNS)
_NO_HOOKS = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)


@dataclass(frozen=True)
class NewFile:
    """A data file that was written and is not in the log yet."""

    fact: FileFact
    stats: str
    written_ms: int

    def action(self) -> AddAction:
        fact = self.fact
        return AddAction(fact.path, fact.bytes, _partition(fact), self.written_ms, True, self.stats)


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
            commit_properties=_properties(receipt, 0),
            post_commithook_properties=_NO_HOOKS,
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
    """Commit files in and out on top of the snapshot; the version it became.

    With other columns, what goes out must be all files of some layouts, rows and columns (`indexing/plan_columns.py`).
    """
    deleted_ms = receipt.committed_us // 1000
    added, removed = list(added), list(removed)
    actions: list[AddAction | RemoveAction] = [one.action() for one in added]
    for fact in removed:
        actions.append(RemoveAction(fact.path, True, deleted_ms, fact.bytes, _partition(fact)))
    digest = snapshot.digest + _digest(one.fact for one in added) - _digest(removed)
    if schema is None or schema == snapshot.schema:
        return _write_files(snapshot, receipt, actions, "append", snapshot.schema, None, digest)
    # An overwrite is the only write that may change the schema. It removes what is in the partitions it replaces.
    out = [
        (name, "in", [str(at) for at in side]) for name, side in zip(PARTITIONING, partitions_of(removed), strict=True)
    ]
    filters = out if removed else [("layout", "=", "-1")]
    return _write_files(snapshot, receipt, actions[: len(added)], "overwrite", schema, filters, digest)


def commit_schema(snapshot: Snapshot, receipt: Receipt, schema: Schema) -> int:
    """Commit other columns or another definition; no file changes."""
    return commit(snapshot, receipt, (), (), schema)


def commit_properties(snapshot: Snapshot, receipt: Receipt, properties: dict[str, str]) -> int:
    """Commit other properties of the table; nothing else changes."""

    def write(commit_properties: CommitProperties) -> None:
        snapshot.table.alter.set_table_properties(
            properties, commit_properties=commit_properties, post_commithook_properties=_NO_HOOKS
        )

    return _write_entry(snapshot, receipt, write, snapshot.digest)


def commit_relocation(snapshot: Snapshot, receipt: Receipt, added: Iterable[NewFile], schema: Schema) -> int:
    """Commit another definition together with new files in place of all that were there."""
    added = list(added)
    digest = _digest(one.fact for one in added)
    return _write_files(snapshot, receipt, [one.action() for one in added], "overwrite", schema, None, digest)


def _digest(files: Iterable[FileFact]) -> int:
    return digest_of((fact.path, fact.bytes) for fact in files)


def _partition(fact: FileFact) -> dict[str, str | None]:
    return {"layout": str(fact.generation), "g": str(fact.g), "e": str(fact.e)}


def _write_files(
    snapshot: Snapshot, receipt: Receipt, actions: list[Any], mode: str, schema: Schema, filters: Any, digest: int
) -> int:
    def write(commit_properties: CommitProperties) -> None:
        snapshot.table.create_write_transaction(
            actions,
            mode,
            schema,
            PARTITIONING,
            filters,
            commit_properties=commit_properties,
            post_commithook_properties=_NO_HOOKS,
        )

    return _write_entry(snapshot, receipt, write, digest)


def _write_entry(snapshot: Snapshot, receipt: Receipt, write: Callable[[CommitProperties], None], digest: int) -> int:
    """One entry of the log by delta-rs, or an error that says which of the outcomes it was."""
    if receipt.head != snapshot.head + 1:
        raise ValueError(f"receipt for head {receipt.head} cannot follow head {snapshot.head}")
    version = snapshot.version + 1
    try:
        write(_properties(receipt, digest % DIGEST_MODULUS))
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
        raise InvalidInput(
            f"version {version} of archive {snapshot.definition.name} could not be written: {one_line(str(error))}. "
            "Nothing was changed",
            "make room or give the right to write there, then run the command again",
        ) from error
    return version


def _receipts_since(snapshot: Snapshot, receipt: Receipt, error: Exception) -> list[tuple[int, Receipt]]:
    """What was committed since the snapshot, by a commit that raised perhaps as well.

    It may even be told that it lost: when an object store's answer goes missing, the request is sent once more, and
    then finds the entry that the first one made.
    """
    try:
        return receipts_after(open_snapshot(snapshot.location), snapshot.version)
    except TidewheelError as unreadable:
        raise OutcomeUnknown(
            f"attempt {receipt.attempt} on archive {snapshot.definition.name} raised at its commit "
            f"({one_line(str(error))}), and the log cannot be read to see whether it landed ({unreadable.message})",
            f"look for the attempt before anything else: tidewheel history {snapshot.location.uri}",
            attempt=receipt.attempt,
        ) from error


def _properties(receipt: Receipt, digest: int) -> CommitProperties:
    transactions = [
        Transaction(FILES_ID, digest),
        Transaction(WATERMARK_ID, watermark_to_transaction(receipt.watermark)),
        # The last line of the entry: an entry that is cut has lost it, and a reader sees that at once.
        Transaction(HEAD_ID, receipt.head),
    ]
    return CommitProperties(
        custom_metadata={DEFINITION_KEY: receipt.to_json()},
        max_commit_retries=0,
        app_transactions=transactions,
    )
