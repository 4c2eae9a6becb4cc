"""Side tables: records stored beside an archive, by the batch that brought them. These rules say what must lie there.

A row counts only while a committed receipt names its attempt for its slot. So neither a failed attempt nor a replaced
batch can add to a side table, and an undo brings back what lay there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from tidewheel.indexing.core.batches import batches_at, made_of
from tidewheel.indexing.core.ledger import Ledger
from tidewheel.indexing.core.receipts import Deed, Receipt, SlotReceipt


@dataclass(frozen=True)
class SideBatch:
    """One batch's share of a side table: so many rows, the newest from then."""

    slot: int
    attempt: str
    newest_us: int
    rows: int

    @property
    def key(self) -> tuple[int, str]:
        return self.slot, self.attempt


def expected_rows(
    receipts: Sequence[tuple[int, Receipt]],
    version: int,
    kept_since_us: int,
    counted: Callable[[SlotReceipt], int],
    *,
    stays: bool = False,
) -> dict[tuple[int, str], int]:
    """Return how many rows must be there, by slot and attempt; without those that a vacuum may have taken.

    With `stays`, a forgotten record leaves an empty row. Without it, batches from before the last forget are left out.
    """
    forgets = (at for at, one in receipts if one.operation is Deed.FORGET and not stays)
    forgotten_at = max(forgets, default=-1)
    counts = {
        (one.slot, receipt.attempt): counted(one)
        for at, receipt in receipts
        if at > forgotten_at and receipt.committed_us > kept_since_us
        for one in receipt.slots
        if not one.part
    }
    return {at: counts[at] for at in batches_at(dict(receipts), version).items() if counts.get(at)}


def unneeded_batches(
    batches: Iterable[SideBatch], counting: Collection[tuple[int, str]], *, grace_since_us: int, kept_since_us: int
) -> list[SideBatch]:
    """Return the batches that no version within grace counts, and those kept long enough."""
    return [
        one
        for one in batches
        if one.newest_us <= kept_since_us or (one.newest_us <= grace_since_us and one.key not in counting)
    ]


def is_derived(slot: int, attempt: str, source: Ledger, span: int, partials: Ledger, parts: Collection[str]) -> bool:
    """Tell whether nobody waits for the unstored records of a batch.

    That is so if every derived part names the batch, or if nobody asks so far back.
    """
    if source.watermark is not None and slot <= source.watermark - max(span, source.horizon):
        return True
    batch = source.batches.get((slot, ""))
    if batch is None or batch.attempt != attempt:
        return False
    derived = (partials.batches.get((slot, part)) for part in parts)
    return all(one is not None and one.lineage[:1] == (made_of(batch),) for one in derived)
