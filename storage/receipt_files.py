"""Receipts on disk: each in its entry of the log, and after it was folded in a file of the ledger.

`_tidewheel/ledger/<version>.json.gz` holds the ledger through that version and the receipts since the file before it.
Its content follows from the log alone, so it does not matter who writes it, or how often. Vacuum merges those of which
only the receipts are still of use.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Hashable, Sequence
from typing import Any, Protocol

from tidewheel.indexing.core.ledger import Ledger
from tidewheel.indexing.core.receipts import Receipt
from tidewheel.indexing.errors import Damaged
from tidewheel.indexing.printable import one_line
from tidewheel.storage.location import Location
from tidewheel.storage.machine import machine_fault
from tidewheel.storage.misread import understood
from tidewheel.storage.remembered import told_of
from tidewheel.storage.snapshot import DEFINITION_KEY, HEAD_ID
from tidewheel.storage.uncollected import uncollected

FOLDER = "_tidewheel/ledger"
# Head and watermark ride in every commit, and the digest of the files in all but old archives' first ones.
TRANSACTIONS = (2, 3)
ENTRY_REMEDY = "restore the file from a copy; if it is the newest entry, delete it and run that operation again"
LEDGER_REMEDY = "if the log still reaches back to the file before it, delete this one: it is folded again"
# Most of a ledger are hashes, which do not pack: more would take three times as long for a fifteenth fewer bytes.
PACKED = 3
Numbered = list[tuple[int, Receipt]]
# Files that never change, each by what tells it apart from another one in its place; None of one that is not there.
MadeOf = tuple[Hashable, ...]


class ReceiptStore(Protocol):
    """Receipts by version: those that the log has, and those that were folded."""

    def entry(self, version: int) -> Receipt | None:
        """Return the receipt in one entry of the log; none if something other than tidewheel committed it."""

    def folded_versions(self) -> list[int]:
        """Return the versions through which ledger files reach, oldest first. Cost: one listing."""

    def ledger(self, version: int) -> Ledger:
        """Return the ledger in the file of that version."""

    def folded(self, version: int) -> Numbered | None:
        """Return the receipts in the file of that version; None if it is gone."""

    def made_of(self, version: int) -> MadeOf:
        """Return the files that a version's ledger is folded from: the newest ledger file and entries since."""

    def write(self, ledger: Ledger, receipts: Numbered) -> None:
        """Write a file of the ledger's version."""

    def drop(self, versions: Sequence[int]) -> None:
        """Delete the files of some versions."""


class ReceiptFiles:
    """`ReceiptStore` in an archive's folder."""

    def __init__(self, location: Location) -> None:
        self.location = location

    def entry(self, version: int) -> Receipt | None:
        values = self._log_entry(version).get(DEFINITION_KEY)
        if values is None:
            return None
        with understood(f"the log entry {self._entry_path(version)}", ENTRY_REMEDY):
            return Receipt.from_json(values)

    def folded_versions(self) -> list[int]:
        stems = [name.removesuffix(".json.gz") for name in self.location.names_in(FOLDER)]
        return sorted(int(stem) for stem in stems if stem.isdigit())

    def ledger(self, version: int) -> Ledger:
        with uncollected(), understood(f"the ledger file {self._path(version)}", LEDGER_REMEDY):
            return Ledger.from_json(self._read(version)["ledger"])

    def folded(self, version: int) -> Numbered | None:
        try:
            content = self._read(version)
        except Damaged as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return None
            raise
        with understood(f"the ledger file {self._path(version)}", LEDGER_REMEDY):
            return [(at, Receipt.from_json(one)) for at, one in content["receipts"]]

    def made_of(self, version: int) -> MadeOf:
        folds = [at for at in self.folded_versions() if at <= version][-1:]
        since = folds[0] if folds else -1
        entries = [self._entry_path(at) for at in range(since + 1, version + 1)]
        return tuple(told_of(self.location, [*map(self._path, folds), *entries]))

    def write(self, ledger: Ledger, receipts: Numbered) -> None:
        with uncollected():
            content = {
                "ledger": ledger.to_json(),
                "receipts": [[version, one.to_json()] for version, one in receipts],
            }
        text = json.dumps(content, separators=(",", ":")).encode()
        # mtime=0: the same log gives the same bytes, whoever writes them.
        packed = gzip.compress(text, compresslevel=PACKED, mtime=0)
        self.location.write_bytes(self._path(ledger.version), packed)

    def drop(self, versions: Sequence[int]) -> None:
        self.location.delete_all(ledger_path(version) for version in versions)

    def _path(self, version: int) -> str:
        return self.location.child(ledger_path(version))

    def _entry_path(self, version: int) -> str:
        return self.location.child(f"_delta_log/{version:020d}.json")

    def _read(self, version: int) -> dict[str, Any]:
        path = self._path(version)
        try:
            content: dict[str, Any] = json.loads(gzip.decompress(self.location.read_bytes(path)))
        except (OSError, ValueError, EOFError, zlib.error) as error:
            raise machine_fault(str(error), f"while reading {path}") or Damaged(
                f"the ledger file {path} cannot be read: {one_line(str(error))}",
                LEDGER_REMEDY,
            ) from error
        return content

    def _log_entry(self, version: int) -> dict[str, Any]:
        """Return the commit information of one log entry."""
        path = self._entry_path(version)
        try:
            lines = self.location.read_bytes(path).splitlines()
            actions = [json.loads(line) for line in lines if line.startswith(b'{"commitInfo"')]
            _refuse_cut(actions[0]["commitInfo"] if actions else {}, lines)
        except (OSError, ValueError) as error:
            raise machine_fault(str(error), f"while reading {path}") or Damaged(
                f"the log entry {path} cannot be read ({one_line(str(error))}); its receipt is not in the ledger yet",
                ENTRY_REMEDY,
            ) from error
        return actions[0]["commitInfo"] if actions else {}


def ledger_path(version: int) -> str:
    return f"{FOLDER}/{version:020d}.json.gz"


def _refuse_cut(entry: dict[str, Any], lines: Sequence[bytes]) -> None:
    """Refuse an entry cut at the end of a line: it is still a valid one, with fewer files than its receipt counts."""
    if not lines:
        raise ValueError("it is empty")
    json.loads(lines[-1])
    values = entry.get(DEFINITION_KEY)
    if values is None:
        return
    transactions = [line for line in lines if line.startswith(b'{"txn"')]
    # The head is an entry's last line.
    if len(transactions) not in TRANSACTIONS or HEAD_ID.encode() not in lines[-1]:
        raise ValueError("its end is missing")
    expected = {"add": values["files_added"], "remove": values["files_removed"]}
    for action, count in expected.items():
        there = sum(line.startswith(f'{{"{action}"'.encode()) for line in lines)
        if there != count:
            raise ValueError(f"it has {there} actions {action}, by its receipt {count}")
