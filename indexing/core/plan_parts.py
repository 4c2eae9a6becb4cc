"""The plan of a derived batch: parts of slots in, what they replace and what has expired out.

It differs from an update's in one point: of a slot only the rows of the parts that come again are replaced, so a file
is rewritten where a part of one of its slots has rows alive, and never dropped for being replaced.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tidewheel.indexing.core.cells import Cell
from tidewheel.indexing.core.ledger import part_cells
from tidewheel.indexing.core.plan import Draft, Plan, watermark_after
from tidewheel.indexing.core.receipts import BatchKey, Deed
from tidewheel.indexing.core.state import TableState


@dataclass(frozen=True, kw_only=True)
class PartsPlan(Plan):
    """`keys` are the batches that come; `replaced` the cells alive that they replace."""

    keys: tuple[BatchKey, ...]
    replaced: tuple[tuple[tuple[int, int], Cell], ...]

    @property
    def work(self) -> tuple[Any, ...]:
        return (*super().work, self.keys)


def plan_parts(state: TableState, keys: Iterable[BatchKey], expire_through: int | None) -> PartsPlan:
    """The plan of batches by slot and part. Cost: one pass over the files, and where some of a file's rows have expired
    one over the ledger's cells."""
    wanted = tuple(sorted(set(keys)))
    watermark = watermark_after(state.watermark, (), expire_through)
    replaced: dict[tuple[int, int], Cell] = {}
    for slot, part in wanted:
        for expiration, cell in part_cells(state.ledger, (slot, part)).items():
            at = (slot, expiration)
            replaced[at] = replaced[at].plus(cell) if at in replaced else cell
    draft = Draft(state, (), watermark, replaced=frozenset(slot for slot, _ in replaced))
    rows = {state.definition.current.layout.row_of(slot) for slot, _ in wanted}
    for subindex, files in sorted(state.by_subindex().items()):
        draft.decide(subindex, files, rows)
    return PartsPlan(
        operation=Deed.UPDATE,
        version=state.version,
        head=state.head,
        slots=(),
        watermark_before=state.watermark,
        watermark=watermark,
        generation=state.definition.current,
        dropped=tuple(draft.dropped),
        rewritten=tuple(draft.rewritten),
        keys=wanted,
        replaced=tuple(sorted(replaced.items(), key=lambda one: one[0])),
    )
