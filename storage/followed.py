"""The next versions of an open table, from the version that is known and the log's entries since.

It follows entries that bring and take files and do nothing else. Each must be a commit of tidewheel's on top of the one
before it, and the files must add up to the digest that each commit states. For anything else the table is opened again,
which also finds what is wrong with it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from deltalake import Schema

from tidewheel.indexing.core.state import FileFact
from tidewheel.storage.snapshot import (
    DIGEST_MODULUS,
    FILES_ID,
    HEAD_ID,
    WATERMARK_ID,
    Snapshot,
    digest_of,
    watermark_from_transaction,
)

# Beyond it, a table is opened as fast from its checkpoint.
ENTRIES_MAX = 20
Files = Mapping[str, FileFact]  # by path
Action = tuple[str, dict[str, Any]]  # its kind, what it says


@dataclass(frozen=True, eq=False)
class Followed(Snapshot):
    """A version that was not opened. For its new files, facts that only help to skip a file are unknown."""

    told_schema: Schema
    told_files: Files
    told_digest: int

    @cached_property
    def schema(self) -> Schema:
        return self.told_schema

    @cached_property
    def files(self) -> tuple[FileFact, ...]:
        return tuple(self.told_files.values())

    @cached_property
    def digest(self) -> int:
        return self.told_digest


@dataclass(frozen=True)
class _State:
    """The parts of a snapshot that entries change."""

    version: int
    head: int
    watermark: int | None
    files: Files
    digest: int

    def after(self, content: bytes, keys: int) -> _State | None:
        """Return the next version, from its entry; None if the entry does not tell it."""
        try:
            actions = [next(iter(json.loads(line).items())) for line in content.splitlines() if not _is_receipt(line)]
            said = {one["appId"]: one["version"] for kind, one in actions if kind == "txn"}
            files = _files_after(self.files, actions, keys)
            head, watermark, digest = said[HEAD_ID], watermark_from_transaction(said[WATERMARK_ID]), said[FILES_ID]
        except (ValueError, KeyError, TypeError, AttributeError, StopIteration):
            return None
        came, went = files.keys() - self.files.keys(), self.files.keys() - files.keys()
        summed = self.digest + _digest(files, came) - _digest(self.files, went)
        follows = head == self.head + 1 and {kind for kind, _ in actions} <= {"add", "remove", "txn"}
        if not follows or digest != summed % DIGEST_MODULUS:
            return None
        return _State(self.version + 1, head, watermark, files, digest)


def follow(snapshot: Snapshot) -> Snapshot | None:
    """Return the newest version; None if the entries since do not tell it. Cost: reading them."""
    location, keys = snapshot.location, len(snapshot.definition.key)
    files = {file.path: file for file in snapshot.files}
    state: _State | None = _State(snapshot.version, snapshot.head, snapshot.watermark, files, snapshot.digest)
    for _ in range(ENTRIES_MAX):
        assert state is not None
        try:
            content = location.read_bytes(location.child(f"_delta_log/{state.version + 1:020d}.json"))
        except FileNotFoundError:
            return Followed(
                location, snapshot.opened, state.version, snapshot.definition, state.head, state.watermark,
                snapshot.schema, state.files, state.digest,
            )  # fmt: skip
        except OSError:
            break
        state = state.after(content, keys)
        if state is None:
            break
    return None


def _is_receipt(line: bytes) -> bool:
    """Tell whether a line is the receipt: by far the longest of an entry, and read by the ledger alone."""
    return line.startswith(b'{"commitInfo"')


def _files_after(files: Files, actions: list[Action], keys: int) -> Files:
    """Return the files, the newest first, as the table has them."""
    came = [_fact(one, keys) for kind, one in actions if kind == "add"]
    went = {unquote(one["path"]) for kind, one in actions if kind == "remove"}
    stay = {path: file for path, file in files.items() if path not in went}
    return {file.path: file for file in came} | stay


def _fact(add: dict[str, Any], keys: int) -> FileFact:
    statistics, partition = json.loads(add["stats"]), add["partitionValues"]
    least, greatest = statistics["minValues"], statistics["maxValues"]
    unknown = (None,) * keys
    return FileFact(
        unquote(add["path"]), int(partition["layout"]), int(partition["g"]), int(partition["e"]),
        least["ins_slot"], greatest["ins_slot"], least["exp_slot"], greatest["exp_slot"],
        statistics["numRecords"], add["size"], None, unknown, unknown,
    )  # fmt: skip


def _digest(files: Files, paths: set[str]) -> int:
    return digest_of((path, files[path].bytes) for path in paths)
