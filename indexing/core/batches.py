"""Which attempt's batch of a slot counts at a version: the latest committed one that no undo took back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidewheel.indexing.core.receipts import Batch, Receipt


def batches_at(receipts: Mapping[int, Receipt], version: int) -> dict[int, str]:
    """The attempt of every slot's batch at a version. Cost: one walk back over the receipts."""
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
    """Every (slot, attempt) that counted at some version from one on, through the newest."""
    known = dict(receipts)
    counted = set(batches_at(known, version).items())
    for at, receipt in known.items():
        if at > version:
            counted.update((one.slot, receipt.attempt) for one in receipt.slots)
            if receipt.restoration is not None:
                counted.update(batches_at(known, at).items())
    return frozenset(counted)


def source_of(batch: Batch | None) -> str:
    """How what is derived names the batch that it was made of: replaced or reached by a forget, it is another one."""
    return "none" if batch is None else f"{batch.attempt} {batch.erasure}"


def made_of(batch: Batch | None) -> str:
    """The first line of the lineage of what was made of a batch."""
    return f"source {source_of(batch)}"
