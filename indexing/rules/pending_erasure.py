"""Erasures that wait for a refresh: a forget was committed, and partials or answers may still hold what it took.

Answers say which forgotten keys have left them. A batch of partials names the state of the source's batch that it was
computed from, and a forget changes that state. Until a refresh goes through, both may hold what was forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tidewheel.indexing.core.batches import is_made_before_forget
from tidewheel.indexing.core.ledger import Ledger, part_cells
from tidewheel.indexing.core.receipts import Deed, Receipt, Tombstone
from tidewheel.indexing.rules.health import PendingErasure


def pending_erasure(
    key: tuple[str, ...],
    source: Ledger,
    partials: Ledger,
    answers: Ledger,
    receipts: Callable[[], Iterable[Receipt]],
) -> PendingErasure | None:
    """Return the oldest forget that waits for a refresh; it asks for the source's receipts only if one does."""
    met = {*answers.tombstones} if answers.applied_parts else {*source.tombstones}
    unmet = frozenset(one for one in source.tombstones if one.columns == key and one not in met)
    stale = frozenset(_stale(source, partials))
    return _oldest(list(receipts()), unmet, stale) if unmet or stale else None


def _stale(source: Ledger, partials: Ledger) -> Iterator[tuple[str, int]]:
    """Yield, for live partials older than a forget, the source's batch and the last forget that they know."""
    for (slot, part), batch in partials.batches.items():
        now = source.batches.get((slot, ""))
        if now is not None and is_made_before_forget(batch, now) and part_cells(partials, (slot, part)):
            yield now.attempt, int(batch.lineage[0].rpartition(" ")[2])


def _oldest(
    receipts: Iterable[Receipt], unmet: frozenset[Tombstone], stale: frozenset[tuple[str, int]]
) -> PendingErasure | None:
    receipts = list(receipts)
    brought = {one.attempt: one.head for one in receipts}
    known = min((max(erasure, brought.get(attempt, 0)) for attempt, erasure in stale), default=None)
    for one in receipts:
        is_later = known is not None and one.head > known
        if one.operation is Deed.FORGET and (is_later or not unmet.isdisjoint(one.tombstones)):
            return PendingErasure(one.head, one.committed_us)
    return None
