"""The feed of changes: the cells that each commit brought and took, and why, from a ledger and later receipts.

A change names cells, not rows: (slot, part, expiration slot) with how many rows came or left. Taking what left from
the cells of one version and adding what came gives the cells of the next. Nothing is read but receipts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tidewheel.indexing.core.batch_map import BatchKey
from tidewheel.indexing.core.cells import Cell, Cells
from tidewheel.indexing.core.folding import fold
from tidewheel.indexing.core.ledger import Ledger, cells_with, cells_without, part_cells
from tidewheel.indexing.core.receipts import Deed, Receipt


class Why(StrEnum):
    """Why rows of a cell came or left."""

    BATCH = "batch"
    REPLACED = "replaced"
    EXPIRED = "expired"
    FORGOTTEN = "forgotten"
    UNDONE = "undone"


@dataclass(frozen=True)
class CellChange:
    """Rows of one cell that came or left."""

    slot: int
    expiration: int
    cell: Cell
    why: Why
    part: str = ""

    def to_json(self) -> dict[str, Any]:
        values = {"slot": self.slot, "expiration_slot": self.expiration, "rows": self.cell.rows, "why": self.why.value}
        return {**values, "part": self.part} if self.part else values


@dataclass(frozen=True)
class Change:
    """The effect of one commit: batches that count from now on, cells that came and left, the watermark."""

    version: int
    operation: Deed
    attempt: str
    committed_us: int
    watermark_before: int | None
    watermark: int | None
    batches: tuple[tuple[BatchKey, str], ...]
    batches_gone: tuple[BatchKey, ...]
    came: tuple[CellChange, ...]
    left: tuple[CellChange, ...]
    moved: bool

    @property
    def rows_came(self) -> int:
        return sum(one.cell.rows for one in self.came)

    def rows_left(self, why: Why) -> int:
        return sum(one.cell.rows for one in self.left if one.why is why)

    def to_json(self) -> dict[str, Any]:
        return {
            "version": self.version,
            "operation": self.operation.value,
            "attempt": self.attempt,
            "committed_us": self.committed_us,
            "watermark_before": self.watermark_before,
            "watermark": self.watermark,
            "batches": [_key_to_json(key) | {"attempt": attempt} for key, attempt in self.batches],
            "batches_gone": [_key_to_json(key) for key in self.batches_gone],
            "came": [one.to_json() for one in self.came],
            "left": [one.to_json() for one in self.left],
            "moved": self.moved,
        }


def changes_between(ledger: Ledger, receipts: Iterable[tuple[int, Receipt]], span: int) -> Iterator[Change]:
    """Yield the changes of the receipts that follow a ledger, oldest first."""
    for version, receipt in sorted(receipts, key=lambda one: one[0]):
        if version > ledger.version:
            after = fold(ledger, version, receipt, span)
            yield _change(ledger, after, receipt)
            ledger = after


def cells_after(cells: Mapping[tuple[int, int], Cell], change: Change) -> dict[tuple[int, int], Cell]:
    """Return the cells of a version, given those of the one before and the change between."""
    after = dict(cells)
    steps: tuple[tuple[tuple[CellChange, ...], Callable[[Cells, Cells], dict[int, Cell]]], ...] = (
        (change.came, cells_with), (change.left, cells_without),
    )  # fmt: skip
    for some, combine in steps:
        for one in some:
            at = (one.slot, one.expiration)
            here = combine({one.expiration: after.pop(at)} if at in after else {}, {one.expiration: one.cell})
            after.update({(one.slot, expiration): cell for expiration, cell in here.items()})
    return after


def _change(before: Ledger, after: Ledger, receipt: Receipt) -> Change:
    walk = _Walk(before)
    if receipt.restoration is not None:
        restored: dict[int, Cells] = {record.slot: record.cells for record in receipt.restoration.records}
        restored.update({slot: {} for slot in receipt.restoration.removed})
        for slot, cells in restored.items():
            walk.exchange(slot, cells)
    for slot, cells in receipt.forgotten:
        walk.lose(slot, cells, Why.FORGOTTEN)
    for one in receipt.slots:
        gone = part_cells(before, one.key) if one.part else walk.cells.get(one.slot, {})
        walk.lose(one.slot, gone, Why.REPLACED, one.part)
        walk.gain(one.slot, one.cells, Why.BATCH, one.part)
    if after.watermark is not None:
        for slot, cells in list(walk.cells.items()):
            dead = {expiration: cell for expiration, cell in cells.items() if expiration <= after.watermark}
            walk.lose(slot, dead, Why.EXPIRED)
    batches, gone_keys = _batches(receipt)
    return Change(
        version=after.version,
        operation=receipt.operation,
        attempt=receipt.attempt,
        committed_us=receipt.committed_us,
        watermark_before=before.watermark,
        watermark=after.watermark,
        batches=batches,
        batches_gone=gone_keys,
        came=tuple(walk.came),
        left=tuple(walk.left),
        moved=receipt.relocated,
    )


def _batches(receipt: Receipt) -> tuple[tuple[tuple[BatchKey, str], ...], tuple[BatchKey, ...]]:
    """Return the batches that count from a receipt on, and the slots and parts that have none any more."""
    came = [(one.key, receipt.attempt) for one in receipt.slots]
    if receipt.restoration is None:
        return tuple(came), ()
    came += [(key, batch.attempt) for key, batch in sorted(receipt.restoration.batches.items())]
    return tuple(came), receipt.restoration.batches_removed


def _key_to_json(key: BatchKey) -> dict[str, Any]:
    slot, part = key
    return {"slot": slot, "part": part} if part else {"slot": slot}


class _Walk:
    """The cells of every slot while one receipt is followed step by step."""

    def __init__(self, ledger: Ledger) -> None:
        self.cells: dict[int, Cells] = {slot: record.cells for slot, record in ledger.records.items()}
        self.came: list[CellChange] = []
        self.left: list[CellChange] = []

    def gain(self, slot: int, cells: Cells, why: Why, part: str = "") -> None:
        self.came += [CellChange(slot, at, cell, why, part) for at, cell in sorted(cells.items())]
        self.cells[slot] = cells_with(self.cells.get(slot, {}), cells)

    def lose(self, slot: int, cells: Cells, why: Why, part: str = "") -> None:
        self.left += [CellChange(slot, at, cell, why, part) for at, cell in sorted(cells.items())]
        self.cells[slot] = cells_without(self.cells.get(slot, {}), cells)

    def exchange(self, slot: int, cells: Cells) -> None:
        """Put other cells in place of a slot's, for an undo; report only the difference."""
        now = self.cells.get(slot, {})
        self.lose(slot, {at: cell for at, cell in now.items() if cells.get(at) != cell}, Why.UNDONE)
        self.gain(slot, {at: cell for at, cell in cells.items() if now.get(at) != cell}, Why.UNDONE)
