"""The batch of each slot that counts at a version: the latest committed one that no undo took back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidewheel.indexing.core.batch_map import Batch
from tidewheel.indexing.core.receipts import Receipt

NO_SOURCE = "none"  # of a slot that was undone


def batches_at(receipts: Mapping[int, Receipt], version: int) -> dict[int, str]:
    """Return the attempt of every slot's batch at a version. Cost: one walk back over the receipts."""
    batches: dict[int, str] = {}
    while version >= 0:
        receipt = receipts.get(version)
        if receipt is not None and receipt.restoration is not None:
            # An undo makes the archive what it was at a version: what lies between does not count.
            version = receipt.restoration.version
            continue
        for one in receipt.slots if receipt is not None else ():
            batches.setdefault(one.slot, receipt.attempt if receipt is not None else "")
        version -= 1
    return batches


def batches_since(receipts: Iterable[tuple[int, Receipt]], version: int) -> frozenset[tuple[int, str]]:
    """Return every (slot, attempt) that counted at some version from one on, through the newest."""
    known = dict(receipts)
    counted = set(batches_at(known, version).items())
    for at, receipt in known.items():
        if at > version:
            counted.update((one.slot, receipt.attempt) for one in receipt.slots)
            if receipt.restoration is not None:
                counted.update(batches_at(known, at).items())
    return frozenset(counted)


def batch_in(receipts: Iterable[Receipt], slot: int, attempt: str) -> Batch:
    """Return the batch that an attempt brought for a slot, and the last forget that may have touched it since.

    The batch keeps the name that it had before the ledger dropped it: who remembers the name must see the forget.
    """
    rows_in, brought, erasure = 0, -1, 0
    for receipt in receipts:
        if receipt.attempt == attempt:
            rows_in = sum(one.rows_in for one in receipt.slots if one.slot == slot)
            brought = receipt.head
        if receipt.may_have_forgotten(slot):
            erasure = max(erasure, receipt.head)
    return Batch(attempt, rows_in, erasure if erasure > brought else 0)


def source_of(batch: Batch | None) -> str:
    """Return the name of a batch for what is derived from it. A replaced or partly forgotten batch has another name."""
    return NO_SOURCE if batch is None else f"{batch.attempt} {batch.erasure}"


def made_of(batch: Batch | None) -> str:
    """Return the first line of the lineage of what was derived from a batch."""
    return f"source {source_of(batch)}"


def is_made_before_forget(derived: Batch, now: Batch) -> bool:
    """Tell whether a derived batch is older than a forget that may have taken something from its source.

    >>> is_made_before_forget(Batch("d", 1, lineage=("source a1 0",)), Batch("a1", 9, erasure=7))
    True
    """
    if not derived.lineage or derived.lineage[0] == made_of(now):
        return False
    return derived.lineage[0].removeprefix("source ").split(" ")[0] == now.attempt
