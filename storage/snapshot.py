"""One version of an archive's table, read from the Delta log with delta-rs; fails closed on what it does not know.

The stored definition rides as metadata of the schema's `layout` column, so it changes in the same commit as the
files. Head, watermark and the digest of the files ride in transaction identifiers, which checkpoints keep.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING

from arro3.core import Table
from deltalake import DeltaTable, Field, Schema
from deltalake.exceptions import DeltaError
from deltalake.schema import PrimitiveType

from tidewheel.indexing.core.definition import PARTITION_COLUMNS, RESERVED_COLUMNS, Definition
from tidewheel.indexing.core.state import FileFact
from tidewheel.indexing.errors import Damaged, InvalidInput
from tidewheel.storage.file_facts import facts_in
from tidewheel.storage.location import Location
from tidewheel.storage.misread import understood
from tidewheel.storage.panics import panics_told
from tidewheel.storage.table_opening import LOG_REMEDY, log_read, open_table, refuse_unknown_features

if TYPE_CHECKING:
    from tidewheel.storage.entry import Entry
    from tidewheel.storage.receipt_files import ReceiptStore

HEAD_ID = "tidewheel/head"
WATERMARK_ID = "tidewheel/watermark"
# Missing in archives whose last commit is older than it: their files are taken as the log tells them.
FILES_ID = "tidewheel/files"
DIGEST_MODULUS = 1 << 62
DEFINITION_KEY = "tidewheel"
# Transaction versions are not negative, slots may be: shifted so that 0 stays free for 'no watermark yet'.
WATERMARK_OFFSET = 1 << 62
# A path up, an absolute one, another place: Delta knows them (shallow clones), an archive never writes them.
_LEADS_OUT = re.compile(r"(^|/)\.\.(/|$)|^/|^[A-Za-z][A-Za-z0-9+.-]*:")
# Rides on a column that came after the first batches. Archives written before there was a mark say it in a receipt.
ADDED_MARK = {"tidewheel": "added"}


@dataclass
class Opened:
    """A table as delta-rs has it; whoever follows its log takes it along to newer versions."""

    location: Location
    table: DeltaTable

    def at(self, version: int) -> DeltaTable:
        """Return it at a version, whoever went on with it."""
        if self.table.version() < version:
            try:
                with panics_told():
                    self.table.update_incremental()
            except (DeltaError, OSError, ValueError):
                return open_table(self.location, version)
        return self.table if self.table.version() == version else open_table(self.location, version)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A pinned version of one archive's table."""

    location: Location
    opened: Opened
    version: int
    definition: Definition
    head: int
    watermark: int | None

    @property
    def table(self) -> DeltaTable:
        """Return the table at this version."""
        return self.opened.at(self.version)

    @property
    def created_us(self) -> int:
        """Return when the table was made."""
        return int(self.table.metadata().created_time or 0) * 1000

    @cached_property
    def schema(self) -> Schema:
        return self.table.schema()

    @property
    def columns(self) -> list[Field]:
        """Return the columns that people put in, without those tidewheel adds."""
        return [field for field in self.schema.fields if field.name not in RESERVED_COLUMNS]

    @cached_property
    def adds(self) -> Table:
        """Return the data files, one row each: path, size_bytes, num_records, min.*, max.*, partition.*."""
        adds = Table.from_arrow(self.table.get_add_actions(flatten=True))
        if _lead_out(list(adds.column("path").to_pylist())):
            raise self._damaged("the log names files that do not lie below the table")
        return adds

    @cached_property
    def files(self) -> tuple[FileFact, ...]:
        """Return one fact for each data file, for those who plan and those who read."""
        try:
            return facts_in(self.adds, self.definition.key)
        except ValueError as error:
            raise self._damaged(str(error)) from error

    @cached_property
    def digest(self) -> int:
        """Return the digest of the files that the log adds up to."""
        return digest_of(zip(*(self.adds.column(name).to_pylist() for name in ("path", "size_bytes")), strict=True))

    @cached_property
    def receipts(self) -> ReceiptStore:
        """Return the store of receipts and ledger files."""
        from tidewheel.storage.receipt_files import ReceiptFiles

        return ReceiptFiles(self.location)

    def newest(self) -> Snapshot:
        """Return the newest version there is by now."""
        return open_snapshot(self.location)

    def create_entry(self, entry: Entry) -> None:
        """Make an entry of the log the next version, or raise."""
        from tidewheel.storage.entry import create_entry

        create_entry(self, entry)

    @property
    def bytes(self) -> int:
        return sum(self.adds.column("size_bytes").to_pylist())

    def _damaged(self, what: str) -> Damaged:
        return Damaged(
            f"archive {self.definition.name} at {self.location.uri}, version {self.version}: {what}",
            f"something else wrote into this table; run: {self.location.command('audit')}",
        )


def _lead_out(paths: Sequence[str]) -> bool:
    """Tell whether a path leads out of the table's folder; paths without a sign of that are not looked at singly."""
    together = "\n".join(paths)
    if ".." in together or ":" in together or "\n/" in together or together.startswith("/"):
        return any(map(_LEADS_OUT.search, paths))
    return False


def digest_of(files: Iterable[tuple[str, int]]) -> int:
    """Return a sum over paths and sizes that tells sets of files apart; each file adds its own share.

    >>> digest_of([("a", 1), ("b", 2)]) == (digest_of([("b", 2)]) + digest_of([("a", 1)])) % DIGEST_MODULUS
    True
    """
    shares = (blake2b(f"{path}\n{size}".encode(), digest_size=8).digest() for path, size in files)
    return sum(int.from_bytes(share) for share in shares) % DIGEST_MODULUS


def open_snapshot(location: Location, version: int | None = None) -> Snapshot:
    """Return the newest version, or the one asked for.

    Cost: the log since its last checkpoint, a hash of each file's name.
    """
    with log_read(location, version):
        return _opened(location, open_table(location, version))


def _opened(location: Location, table: DeltaTable) -> Snapshot:
    refuse_unknown_features(location, table)
    definition = _stored_definition(location, table)
    head = table.transaction_version(HEAD_ID)
    watermark = table.transaction_version(WATERMARK_ID)
    if head is None or watermark is None:
        raise Damaged(
            f"the table at {location.uri} has an archive's definition but no head or watermark",
            f"run: {location.command('audit')}",
        )
    opened = Opened(location, table)
    snapshot = Snapshot(location, opened, int(table.version()), definition, head, watermark_from_transaction(watermark))
    digest = table.transaction_version(FILES_ID)
    # Commits of others bring files and no digest.
    if digest is not None and head == snapshot.version and digest != snapshot.digest:
        raise unlike_commits(snapshot, "adds up to other files than its commit left")
    return snapshot


def unlike_commits(snapshot: Snapshot, how: str) -> Damaged:
    """Return the error for a log that can be read, and is not the one that the archive's commits wrote."""
    from tidewheel.storage.log_faults import unlike_their_commits

    location = snapshot.location
    return Damaged(
        f"version {snapshot.version} of the archive at {location.uri} {how}: "
        f"{unlike_their_commits(location, snapshot.version, HEAD_ID)}",
        LOG_REMEDY,
    )


def watermark_from_transaction(version: int) -> int | None:
    return None if version == 0 else version - WATERMARK_OFFSET


def watermark_to_transaction(watermark: int | None) -> int:
    return 0 if watermark is None else watermark + WATERMARK_OFFSET


def definition_field(definition: Definition) -> Field:
    """Return the `layout` column with the definition on it."""
    return Field(
        "layout",
        PrimitiveType("integer"),
        nullable=True,
        metadata={DEFINITION_KEY: json.dumps(definition.to_json(), sort_keys=True)},
    )


def with_definition(schema: Schema, definition: Definition) -> Schema:
    """Return the same columns with another definition."""
    return Schema([definition_field(definition) if f.name == "layout" else f for f in schema.fields])


def _stored_definition(location: Location, table: DeltaTable) -> Definition:
    for field in table.schema().fields:
        if field.name == "layout" and DEFINITION_KEY in field.metadata:
            break
    else:
        raise InvalidInput(
            f"the Delta table at {location.uri} is not a tidewheel archive: it holds no definition",
            "check the path, or create an archive elsewhere: tidewheel init ARCHIVE",
        )
    if tuple(table.metadata().partition_columns) != PARTITION_COLUMNS:
        raise Damaged(f"the table at {location.uri} is not partitioned by {', '.join(PARTITION_COLUMNS)}")
    stored = field.metadata[DEFINITION_KEY]
    with understood(f"the definition in the Delta log of {location.uri}", LOG_REMEDY):
        return Definition.from_json(json.loads(stored) if isinstance(stored, str) else stored)
