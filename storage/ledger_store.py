"""The ledger beside the table: receipts are folded out of the log before the log is cleaned.

`_tidewheel/ledger/<version>.json.gz` holds the ledger through that version and the receipts since the file
before it. Its content follows from the log alone, so it does not matter who writes it, or how often.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tidewheel.indexing.changes import Change, changes_between
from tidewheel.indexing.errors import Damaged
from tidewheel.indexing.ledger import Ledger, fold_all
from tidewheel.indexing.printable import one_line
from tidewheel.indexing.receipts import Receipt
from tidewheel.indexing.state import TableState
from tidewheel.storage.location import ListedFile
from tidewheel.storage.machine import machine_fault
from tidewheel.storage.remembered import Remembered, told_of
from tidewheel.storage.snapshot import DEFINITION_KEY, HEAD_ID, Snapshot, unlike_commits

FOLDER = "_tidewheel/ledger"
FOLD_EVERY_COMMITS = 10
# Head and watermark ride in every commit, and the digest of the files in all but old archives' first ones.
TRANSACTIONS = (2, 3)
# Of a few archives, the ledgers at their newest versions.
_LEDGERS: Remembered[Ledger] = Remembered(8)
_ENTRY_REMEDY = "restore the file from a copy; if it is the newest entry, delete it and run that operation again"


def state_of(snapshot: Snapshot) -> TableState:
    """All that a plan is decided from. Cost: one listing, and of ledger file and receipts what was not read before."""
    return TableState(
        version=snapshot.version,
        head=snapshot.head,
        watermark=snapshot.watermark,
        definition=snapshot.definition,
        files=snapshot.files,
        ledger=ledger_of(snapshot),
    )


def ledger_of(snapshot: Snapshot) -> Ledger:
    """The ledger at the snapshot's version."""
    files = _files_of_ledger(snapshot)
    known = _known_ledger(files, snapshot.definition.span) or _newest_fold(snapshot)
    receipts = receipts_after(snapshot, known.version)
    _refuse_broken_chain(snapshot, known, receipts)
    ledger = replace(fold_all(known, receipts, snapshot.definition.span), version=snapshot.version)
    if None not in files:
        _LEDGERS.put((files, snapshot.definition.span), ledger)
    return ledger


def _files_of_ledger(snapshot: Snapshot) -> tuple[ListedFile | None, ...]:
    """What a ledger is made of: the newest ledger file, if there is one, and the log's entries since."""
    folds = _folds(snapshot)
    since = folds[-1][0] if folds else -1
    numbers = range(since + 1, snapshot.version + 1)
    entries = told_of(snapshot.location, [_entry_path(snapshot, number) for number in numbers])
    return (*(file for _, file in folds[-1:]), *entries)


def _known_ledger(files: tuple[ListedFile | None, ...], span: int) -> Ledger | None:
    """The ledger of as many of these files as it is known of."""
    firsts = (files[:count] for count in range(len(files), 0, -1))
    return next((known for some in firsts if (known := _LEDGERS.get((some, span))) is not None), None)


def ledger_at(snapshot: Snapshot, version: int) -> Ledger:
    """The ledger at an earlier version, also where the log does not reach back to it. Cost: ledger files since."""
    reached = [at for at in folded_versions(snapshot) if at <= version]
    folds = dict(_folds(snapshot))
    ledger = Ledger.from_json(_read(snapshot, folds[reached[-1]].path)["ledger"]) if reached else Ledger()
    later = ((at, receipt) for at, receipt in receipts_since(snapshot, ledger.version) if at <= version)
    return replace(fold_all(ledger, later, snapshot.definition.span), version=version)


def changes_since(snapshot: Snapshot, version: int) -> Iterator[Change]:
    """The feed of changes from a version to the snapshot's."""
    ledger = ledger_at(snapshot, version)
    return changes_between(ledger, receipts_since(snapshot, version), snapshot.definition.span)


def checked(snapshot: Snapshot) -> Snapshot:
    """The snapshot; refused if its log was cut or is not the one that its commits made.

    Cost: nothing, as long as every version is a commit of tidewheel's; else that of the ledger.
    """
    if snapshot.head != snapshot.version:
        ledger_of(snapshot)
    return snapshot


def receipts_after(snapshot: Snapshot, version: int) -> list[tuple[int, Receipt]]:
    """The receipts of the log's commits after a version, through the snapshot's, oldest first.

    The log entries are read one by one: delta-rs numbers `history` from the snapshot's version downwards even
    when a newer entry has appeared since, which shifts every receipt by one (seen with two writers).
    """
    entries = ((at, _log_entry(snapshot, at)) for at in range(version + 1, snapshot.version + 1))
    return [(at, receipt) for at, entry in entries if (receipt := _receipt(entry)) is not None]


def entry_receipt(snapshot: Snapshot, version: int) -> Receipt | None:
    """The receipt in one entry of the log; none if something other than tidewheel committed it."""
    return _receipt(_log_entry(snapshot, version))


def all_receipts(snapshot: Snapshot) -> Iterator[tuple[int, Receipt]]:
    """Every receipt since the archive began, oldest first. Cost: all ledger files."""
    return receipts_since(snapshot, -1)


def receipts_since(snapshot: Snapshot, version: int) -> Iterator[tuple[int, Receipt]]:
    """The receipts after a version, oldest first, wherever they are. Cost: the ledger files that reach beyond it."""
    through = version
    for at, file in _folds(snapshot):
        if at > through:
            content = _read(snapshot, file.path)
            # Two writers may have folded the same receipts into files of different versions.
            yield from ((v, Receipt.from_json(one)) for v, one in content["receipts"] if v > through)
            through = at
    yield from receipts_after(snapshot, through)


def fold_into_ledger(snapshot: Snapshot, *, every: int = FOLD_EVERY_COMMITS) -> bool:
    """Fold what the log holds beyond the newest ledger file, if that is at least `every` commits."""
    folded = _newest_fold(snapshot)
    if snapshot.version - folded.version < every:
        return False
    receipts = receipts_after(snapshot, folded.version)
    ledger = replace(fold_all(folded, receipts, snapshot.definition.span), version=snapshot.version)
    content = {
        "ledger": ledger.to_json(),
        "receipts": [[version, one.to_json()] for version, one in receipts],
    }
    # mtime=0: the same log gives the same bytes, whoever writes them.
    packed = gzip.compress(json.dumps(content, separators=(",", ":")).encode(), compresslevel=6, mtime=0)
    location = snapshot.location
    path = location.child(f"{FOLDER}/{snapshot.version:020d}.json.gz")
    location.write_bytes(path, packed)
    _LEDGERS.put(((*told_of(location, [path]),), snapshot.definition.span), ledger)
    return True


def folded_versions(snapshot: Snapshot) -> list[int]:
    """The versions through which ledger files reach."""
    return [version for version, _ in _folds(snapshot)]


def _newest_fold(snapshot: Snapshot) -> Ledger:
    folds = _folds(snapshot)
    return Ledger.from_json(_read(snapshot, folds[-1][1].path)["ledger"]) if folds else Ledger()


def _folds(snapshot: Snapshot) -> list[tuple[int, ListedFile]]:
    """The ledger files through the snapshot's version, oldest first."""
    found = []
    for info in snapshot.location.files_below(FOLDER):
        stem = info.base_name.removesuffix(".json.gz")
        if stem.isdigit() and int(stem) <= snapshot.version:
            found.append((int(stem), info))
    return sorted(found, key=lambda one: one[0])


def _read(snapshot: Snapshot, path: str) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(gzip.decompress(snapshot.location.read_bytes(path)))
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise machine_fault(str(error), f"while reading {path}") or Damaged(
            f"the ledger file {path} cannot be read: {one_line(str(error))}",
            "if the log still reaches back to the file before it, delete this one: it is folded again",
        ) from error
    return content


def _entry_path(snapshot: Snapshot, version: int) -> str:
    return snapshot.location.child(f"_delta_log/{version:020d}.json")


def _log_entry(snapshot: Snapshot, version: int) -> dict[str, Any]:
    """The commit information of one log entry."""
    location = snapshot.location
    path = _entry_path(snapshot, version)
    try:
        lines = location.read_bytes(path).splitlines()
        actions = [json.loads(line) for line in lines if line.startswith(b'{"commitInfo"')]
        _refuse_cut(actions[0]["commitInfo"] if actions else {}, lines)
    except (OSError, ValueError) as error:
        raise machine_fault(str(error), f"while reading {path}") or Damaged(
            f"the log entry {path} cannot be read ({one_line(str(error))}); its receipt is not in the ledger yet",
            _ENTRY_REMEDY,
        ) from error
    return actions[0]["commitInfo"] if actions else {}


def _refuse_broken_chain(snapshot: Snapshot, folded: Ledger, receipts: list[tuple[int, Receipt]]) -> None:
    """Every commit of tidewheel's moves the head on by one: another entry in its place does not."""
    head = folded.head
    for version, receipt in receipts:
        if receipt.head != head + 1:
            raise Damaged(
                f"version {version} of the archive at {snapshot.location.uri} has head {receipt.head} after head "
                f"{head}: the log entry {version:020d}.json is not the one that was committed",
                _ENTRY_REMEDY,
            )
        head = receipt.head
    if head != snapshot.head:
        raise unlike_commits(snapshot, f"has head {snapshot.head}, the ledger {head}")


def _refuse_cut(entry: dict[str, Any], lines: list[bytes]) -> None:
    """An entry cut at the end of a line is still a log entry, of a smaller commit than its receipt tells of."""
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


def _receipt(entry: dict[str, Any]) -> Receipt | None:
    """The receipt of a log entry; none if something other than tidewheel committed it."""
    values = entry.get(DEFINITION_KEY)
    return None if values is None else Receipt.from_json(values)
