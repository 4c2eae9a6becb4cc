"""The plan of a derived batch: the parts of slots that it adds, those it replaces and the rows that have expired.

It differs from an update's in one point: within a slot it replaces only the rows of the parts that it brings. So a file
is rewritten where a part of one of its slots has rows alive, and never dropped because it was replaced.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from typing import Any

from tidewheel.indexing.core.batch_map import BatchKey
from tidewheel.indexing.core.cells import Cell
from tidewheel.indexing.core.ledger import part_cells
from tidewheel.indexing.core.plan import Draft, FileChange, Plan, watermark_after
from tidewheel.indexing.core.receipts import Deed, Tombstone
from tidewheel.indexing.core.state import FileFact, TableState


@dataclass(frozen=True, kw_only=True)
class PartsPlan(Plan):
    """The plan of batches by slot and part.

    `keys` are the batches that come, `replaced` the live cells that they replace. The files `thinned` lose only rows of
    forgotten keys; nothing in them is replaced.
    """

    keys: tuple[BatchKey, ...]
    replaced: tuple[tuple[tuple[int, int], Cell], ...]
    thinned: tuple[FileChange, ...] = ()

    @property
    def work(self) -> tuple[Any, ...]:
        return (*super().work, self.keys)


def plan_parts(state: TableState, keys: Iterable[BatchKey], expire_through: int | None) -> PartsPlan:
    """Return the plan of batches by slot and part.

    Cost: one pass over the files, and one over the ledger's cells where some of a file's rows have expired.
    """
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


def plan_erasing(
    plan: PartsPlan, state: TableState, going: Container[str], tombstones: tuple[Tombstone, ...]
) -> PartsPlan:
    """Return the same plan, which also removes forgotten keys; `going` are the files that hold their rows."""
    known = {change.file.path for change in (*plan.dropped, *plan.rewritten)}
    thinned = tuple(
        FileChange(file, "holds rows that go") for file in state.files if file.path in going and file.path not in known
    )
    rewritten = (*plan.rewritten, *thinned)
    return replace(plan, operation=Deed.FORGET, rewritten=rewritten, thinned=thinned, tombstones=tombstones)


def files_kept_of(state: TableState, plan: PartsPlan) -> list[FileFact]:
    """Return the files of some to rewrite that keep rows: by the ledger, not all batches of their slots come again."""
    replaced = {at: cell.rows for at, cell in plan.replaced}
    staying = sorted(
        slot
        for slot, record in state.ledger.records.items()
        if any(
            cell.rows > replaced.get((slot, expiration), 0)
            for expiration, cell in record.cells.items()
            if plan.watermark is None or expiration > plan.watermark
        )
    )
    files = [change.file for change in plan.rewritten if change not in plan.thinned]
    return [one for one in files if bisect_left(staying, one.ins_min) < bisect_right(staying, one.ins_max)]
