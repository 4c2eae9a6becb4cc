"""One entry of an archive's log: files added, files removed and facts, created by delta-rs if nobody was first.

No public Spark call commits an exact set of added and removed files, so Spark writes the files and delta-rs
creates the log entry. It does so only if the entry does not exist yet, locally by a hard link and on object stores
by a conditional PUT, and it is told not to retry: whoever loses plans again on the fresh version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from deltalake import CommitProperties, PostCommitHookProperties, Schema
from deltalake.transaction import AddAction, RemoveAction, Transaction

from tidewheel.indexing.core.definition import PARTITION_COLUMNS
from tidewheel.indexing.core.plan_columns import partitions_of
from tidewheel.indexing.core.receipts import Receipt
from tidewheel.indexing.core.state import FileFact
from tidewheel.storage.snapshot import (
    DEFINITION_KEY,
    DIGEST_MODULUS,
    FILES_ID,
    HEAD_ID,
    WATERMARK_ID,
    Snapshot,
    digest_of,
    watermark_to_transaction,
)

PARTITIONING = list(PARTITION_COLUMNS)
NO_HOOKS = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)


@dataclass(frozen=True)
class NewFile:
    """A data file that was written and is not in the log yet."""

    fact: FileFact
    stats: str
    written_ms: int

    def action(self) -> AddAction:
        fact = self.fact
        return AddAction(fact.path, fact.bytes, _partition(fact), self.written_ms, True, self.stats)


@dataclass(frozen=True)
class Entry:
    """The content of one entry. `schema` is set only if it changes; with `replaces_all`, no earlier file stays."""

    receipt: Receipt
    added: tuple[NewFile, ...] = ()
    removed: tuple[FileFact, ...] = ()
    schema: Schema | None = None
    replaces_all: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)

    def digest_on(self, snapshot: Snapshot) -> int:
        """Return the digest of the files that exist after this entry."""
        before = 0 if self.replaces_all else snapshot.digest
        came, went = (one.fact for one in self.added), self.removed
        return before + _digest(came) - _digest(went)


def create_entry(snapshot: Snapshot, entry: Entry) -> None:
    """Make it the version after the snapshot's, or raise the error of delta-rs."""
    said = entry_properties(entry.receipt, entry.digest_on(snapshot))
    if entry.properties:
        snapshot.table.alter.set_table_properties(
            dict(entry.properties), commit_properties=said, post_commithook_properties=NO_HOOKS
        )
        return
    actions: list[AddAction | RemoveAction] = [one.action() for one in entry.added]
    mode, filters = "append", None
    if entry.replaces_all:
        mode = "overwrite"
    elif entry.schema is not None:
        # An overwrite is the only write that may change the schema. It removes what is in the partitions it replaces.
        mode, filters = "overwrite", _partitions(entry)
    else:
        actions += _removals(entry)
    snapshot.table.create_write_transaction(
        actions,
        mode,
        entry.schema or snapshot.schema,
        PARTITIONING,
        filters,
        commit_properties=said,
        post_commithook_properties=NO_HOOKS,
    )


def entry_properties(receipt: Receipt, digest: int) -> CommitProperties:
    """Return the properties of a commit beside its files."""
    transactions = [
        Transaction(FILES_ID, digest % DIGEST_MODULUS),
        Transaction(WATERMARK_ID, watermark_to_transaction(receipt.watermark)),
        # The last line of the entry: an entry that is cut has lost it, and a reader sees that at once.
        Transaction(HEAD_ID, receipt.head),
    ]
    return CommitProperties(
        custom_metadata={DEFINITION_KEY: receipt.to_json()},
        max_commit_retries=0,
        app_transactions=transactions,
    )


def _removals(entry: Entry) -> list[RemoveAction]:
    deleted_ms = entry.receipt.committed_us // 1000
    return [RemoveAction(fact.path, True, deleted_ms, fact.bytes, _partition(fact)) for fact in entry.removed]


def _partitions(entry: Entry) -> list[Any]:
    if not entry.removed:
        return [("layout", "=", "-1")]
    sides = zip(PARTITIONING, partitions_of(entry.removed), strict=True)
    return [(name, "in", [str(at) for at in side]) for name, side in sides]


def _digest(files: Iterable[FileFact]) -> int:
    return digest_of((fact.path, fact.bytes) for fact in files)


def _partition(fact: FileFact) -> dict[str, str | None]:
    return {"layout": str(fact.generation), "g": str(fact.g), "e": str(fact.e)}
