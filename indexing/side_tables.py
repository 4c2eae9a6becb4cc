"""Side tables: records kept beside an archive, by the batch that brought them. What must lie there, what may go.

A row counts only while a committed receipt names its attempt for its slot. So neither a failed attempt nor a replaced
batch can add to a side table, and an undo brings back what lay there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from tidewheel.indexing.batches import batches_at
from tidewheel.indexing.receipts import Operation, Receipt, SlotReceipt


@dataclass(frozen=True)
class SideBatch:
    """What a side table holds of one batch: so many rows, the newest from then."""

    slot: int
    attempt: str
    newest_us: int
    rows: int

    @property
    def key(self) -> tuple[int, str]:
        return self.slot, self.attempt


def expected_rows(
    receipts: Sequence[tuple[int, Receipt]], version: int, kept_since_us: int, counted: Callable[[SlotReceipt], int]
) -> dict[tuple[int, str], int]:
    """How many rows must be there, by slot and attempt; without those that a forget or a vacuum may have taken."""
    forgotten_at = max((at for at, one in receipts if one.operation is Operation.FORGET), default=-1)
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
    """Batches that count at no version within grace, once that is longer ago than grace; and those kept long enough."""
    return [
        one
        for one in batches
        if one.newest_us <= kept_since_us or (one.newest_us <= grace_since_us and one.key not in counting)
    ]
