"""The ledger beside the table: receipts are folded out of the log before the log is cleaned.

`storage/receipt_files.py` says where receipts lie and reads them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tidewheel.indexing.core.folding import fold_all
from tidewheel.indexing.core.ledger import Ledger
from tidewheel.indexing.core.receipts import Receipt
from tidewheel.indexing.core.state import TableState
from tidewheel.indexing.errors import Damaged
from tidewheel.indexing.rules.care import COMMITS_MIN
from tidewheel.indexing.rules.changes import Change, changes_between
from tidewheel.indexing.rules.vacuum import joined_files
from tidewheel.storage.receipt_files import ENTRY_REMEDY, MadeOf
from tidewheel.storage.remembered import Remembered
from tidewheel.storage.snapshot import Snapshot, unlike_commits

# Of a few archives, the ledgers at their newest versions.
_LEDGERS: Remembered[Ledger] = Remembered(8)


def state_of(snapshot: Snapshot) -> TableState:
    """Return all that a plan needs. Cost: one listing, and the ledger file and receipts that were not read before."""
    return TableState(
        version=snapshot.version,
        head=snapshot.head,
        watermark=snapshot.watermark,
        definition=snapshot.definition,
        files=snapshot.files,
        ledger=ledger_of(snapshot),
    )


def ledger_of(snapshot: Snapshot) -> Ledger:
    """Return the ledger at the snapshot's version."""
    made_of = snapshot.receipts.made_of(snapshot.version)
    known = _known_ledger(made_of, snapshot.definition.span) or _newest_fold(snapshot)
    receipts = receipts_after(snapshot, known.version)
    _refuse_broken_chain(snapshot, known, receipts)
    ledger = replace(fold_all(known, receipts, snapshot.definition.span), version=snapshot.version)
    _remember(made_of, ledger, snapshot.definition.span)
    return ledger


def _known_ledger(made_of: MadeOf, span: int) -> Ledger | None:
    """Return the ledger of as many of these files as possible, if one is known."""
    firsts = (made_of[:count] for count in range(len(made_of), 0, -1))
    return next((known for some in firsts if (known := _LEDGERS.get((some, span))) is not None), None)


def _remember(made_of: MadeOf, ledger: Ledger, span: int) -> None:
    if None not in made_of:
        _LEDGERS.put((made_of, span), ledger)


def ledger_at(snapshot: Snapshot, version: int) -> Ledger:
    """Return the ledger at an earlier version, even one that the log has lost. Cost: ledger files since."""
    reached = [at for at in folded_versions(snapshot) if at <= version]
    ledger = snapshot.receipts.ledger(reached[-1]) if reached else Ledger()
    later = ((at, receipt) for at, receipt in receipts_since(snapshot, ledger.version) if at <= version)
    return replace(fold_all(ledger, later, snapshot.definition.span), version=version)


def changes_since(snapshot: Snapshot, version: int) -> Iterator[Change]:
    """Return the feed of changes from a version to the snapshot's."""
    ledger = ledger_at(snapshot, version)
    return changes_between(ledger, receipts_since(snapshot, version), snapshot.definition.span)


def checked(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot; refuse it if its log was cut or is not the one that its commits made.

    Cost: nothing, as long as every version is a commit of tidewheel's; else that of the ledger.
    """
    if snapshot.head != snapshot.version:
        ledger_of(snapshot)
    return snapshot


def receipts_after(snapshot: Snapshot, version: int) -> list[tuple[int, Receipt]]:
    """Return the receipts of the log's commits after a version, through the snapshot's, oldest first.

    The log entries are read one by one: delta-rs numbers `history` from the snapshot's version downwards even
    when a newer entry has appeared since, which shifts every receipt by one (seen with two writers).
    """
    entry = snapshot.receipts.entry
    found = ((at, entry(at)) for at in range(version + 1, snapshot.version + 1))
    return [(at, receipt) for at, receipt in found if receipt is not None]


def entry_receipt(snapshot: Snapshot, version: int) -> Receipt | None:
    """Return the receipt in one entry of the log; none if something other than tidewheel committed it."""
    return snapshot.receipts.entry(version)


def all_receipts(snapshot: Snapshot) -> Iterator[tuple[int, Receipt]]:
    """Return every receipt since the archive began, oldest first. Cost: all ledger files."""
    return receipts_since(snapshot, -1)


def receipts_since(snapshot: Snapshot, version: int) -> Iterator[tuple[int, Receipt]]:
    """Return the receipts after a version, oldest first, wherever they are.

    Cost: the ledger files that reach beyond it.
    """
    through = version
    for at in folded_versions(snapshot):
        # One that is gone since it was listed was joined to the next.
        if at > through and (folded := snapshot.receipts.folded(at)) is not None:
            # Two writers may have folded the same receipts into files of different versions.
            yield from (one for one in folded if one[0] > through)
            through = at
    yield from receipts_after(snapshot, through)


def fold_into_ledger(snapshot: Snapshot, *, every: int = COMMITS_MIN) -> bool:
    """Fold the log's receipts beyond the newest ledger file, if they are at least `every` commits."""
    through = max(folded_versions(snapshot), default=-1)
    if snapshot.version - through < every:
        return False
    ledger = ledger_of(snapshot)
    snapshot.receipts.write(ledger, receipts_after(snapshot, through))
    _remember(snapshot.receipts.made_of(snapshot.version), ledger, snapshot.definition.span)
    return True


def join_ledger_files(snapshot: Snapshot, before: int) -> list[int]:
    """Merge ledger files that end before a version into the last of them; return the versions of the needless others.

    Their ledgers are no longer needed if nobody can open a version before that one. A reader who still looks for one
    that is gone finds its content in the next.
    """
    versions = joined_files(folded_versions(snapshot), before)
    if not versions:
        return []
    receipts: dict[int, Receipt] = {}
    for version in versions:
        receipts.update(snapshot.receipts.folded(version) or ())
    snapshot.receipts.write(snapshot.receipts.ledger(versions[-1]), sorted(receipts.items()))
    return list(versions[:-1])


def folded_versions(snapshot: Snapshot) -> list[int]:
    """Return the versions through which ledger files reach, up to the snapshot's, oldest first."""
    return [version for version in snapshot.receipts.folded_versions() if version <= snapshot.version]


def _newest_fold(snapshot: Snapshot) -> Ledger:
    folded = folded_versions(snapshot)
    return snapshot.receipts.ledger(folded[-1]) if folded else Ledger()


def _refuse_broken_chain(snapshot: Snapshot, folded: Ledger, receipts: list[tuple[int, Receipt]]) -> None:
    """Refuse a log whose heads do not count up by one: another entry lies in a commit's place."""
    head = folded.head
    for version, receipt in receipts:
        if receipt.head != head + 1:
            raise Damaged(
                f"version {version} of the archive at {snapshot.location.uri} has head {receipt.head} after head "
                f"{head}: the log entry {version:020d}.json is not the one that was committed",
                ENTRY_REMEDY,
            )
        head = receipt.head
    if head != snapshot.head:
        raise unlike_commits(snapshot, f"has head {snapshot.head}, the ledger {head}")
