"""Undo rules: which versions can be gone back to, and what the ledger must take back.

An undo is a commit like any other: the files of an earlier version in place of the present ones, its watermark, and
in the receipt the ledger's difference. What was forgotten stays forgotten, and a layout stays changed: those are not
mistakes that a mere exchange of files could take back. Columns that came since stay, and are NULL.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidewheel.indexing.core.batch_map import Batch, BatchKey
from tidewheel.indexing.core.ledger import Ledger
from tidewheel.indexing.core.receipts import Deed, Receipt, Restoration, Tombstone
from tidewheel.indexing.errors import InvalidInput

_BARRIERS = {
    Deed.INIT: ("it created the archive", "delete the archive's folder if it is not wanted"),
    Deed.FORGET: (
        "what was forgotten stays forgotten",
        "replay single slots instead: tidewheel update ARCHIVE --slot START",
    ),
    Deed.MIGRATE: ("it changed the layout", "move to the layout that was: tidewheel migrate ARCHIVE"),
}


def refuse_barriers(receipts: Iterable[tuple[int, Receipt]], version: int) -> None:
    """Refuse to go back to a version across an operation that an undo cannot take back."""
    for at, receipt in receipts:
        if at > version and receipt.operation in _BARRIERS:
            reason, remedy = _BARRIERS[receipt.operation]
            raise InvalidInput(
                f"cannot go back to version {version}: version {at} was a {receipt.operation.value}, and {reason}. "
                "Nothing was changed",
                f"{remedy}; or go back no further than version {at}: --to-version {at}",
                version=at,
            )


def restoration_between(now: Ledger, then: Ledger) -> Restoration:
    """Return the changes that turn the present ledger into the earlier one. Cost: one pass over the records."""
    unknown = _unknown_batches(now, then)
    return Restoration(
        version=then.version,
        applied=then.applied,
        records=tuple(record for slot, record in sorted(then.records.items()) if now.records.get(slot) != record),
        removed=tuple(sorted(now.records.keys() - then.records.keys())),
        batches={
            **{key: batch for key, batch in then.batches.items() if now.batches.get(key) != batch},
            **dict.fromkeys(unknown, Batch("", 0)),
        },
        applied_parts=then.applied_parts,
        batches_removed=tuple(sorted(now.batches.keys() - then.batches.keys() - unknown)),
    )


def _unknown_batches(now: Ledger, then: Ledger) -> set[BatchKey]:
    """Return the batches that counted then and that the map did not hold, as nobody asked that far back.

    Nobody can tell which batch counts again. The answer is a batch without a name, which no consumer has seen.
    """
    if now.horizon <= then.horizon or then.watermark is None:
        return set()
    oldest = then.watermark - now.horizon + 1
    counted = {(slot, "") for first, last in then.applied for slot in range(max(first, oldest), last + 1)}
    return counted - then.batches.keys()


def tombstones_between(now: Ledger, then: Ledger) -> tuple[Tombstone, ...]:
    """Return the tombstones that only the later watermark made needless: they matter again when it goes back."""
    known = set(now.tombstones)
    return tuple(one for one in then.tombstones if one not in known)
