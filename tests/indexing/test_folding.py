"""Receipts folded by their heaps are what folding them one by one, looking through everything, makes of them."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.indexing.test_changes import some_history
from tests.support.models.slow_fold import slow_fold
from tidewheel.indexing.core.batch_map import Batch
from tidewheel.indexing.core.cells import Cell
from tidewheel.indexing.core.folding import fold_all
from tidewheel.indexing.core.ledger import Ledger, part_cells
from tidewheel.indexing.core.offsets import SlotOffsets
from tidewheel.indexing.core.receipts import Deed, Observation, Receipt, SlotReceipt, Tombstone

SPAN = 5
PARTS = ("", "hourly", "daily")


def folded_slowly(ledger: Ledger, receipts: list[tuple[int, Receipt]], span: int) -> Ledger:
    for version, receipt in receipts:
        ledger = slow_fold(ledger, version, receipt, span)
    return ledger


def in_pieces(chance: random.Random, receipts: list[tuple[int, Receipt]], span: int) -> Ledger:
    """Folded some at a time, some of them twice."""
    ledger, at = Ledger(), 0
    while at < len(receipts):
        more = chance.randrange(1, 6)
        ledger = fold_all(ledger, receipts[max(0, at - 2) : at + more], span)
        at += more
    return ledger


@pytest.mark.parametrize("block", range(4))
def test_histories_of_archives(block: int) -> None:
    for seed in range(block * 100, (block + 1) * 100):
        chance = random.Random(seed)
        table = some_history(chance)
        span = table.definition.span
        slowly = folded_slowly(Ledger(), table.receipts, span)
        assert in_pieces(chance, table.receipts, span) == slowly, f"history seed {seed}"


def test_histories_of_parts_that_are_asked_for() -> None:
    for seed in range(200):
        chance = random.Random(seed)
        ledger, receipts = Ledger(), []
        for version in range(chance.randrange(5, 40)):
            receipts.append((version, some_receipt(chance, ledger, version)))
            ledger = slow_fold(ledger, *receipts[-1], SPAN)
        assert in_pieces(chance, receipts, SPAN) == ledger, f"history seed {seed}"


def some_receipt(chance: random.Random, ledger: Ledger, version: int) -> Receipt:
    """What a derived archive's commit, or that of one which is asked, may say."""
    watermark = ledger.watermark
    if watermark is None or chance.random() < 0.6:
        watermark = chance.randrange(0, 4) + (-1 if watermark is None else watermark)
    base = Receipt(Deed.UPDATE, f"a{version}", ledger.head + 1, watermark, 0, 0)
    values: dict[str, object] = {}
    act = chance.choice(["batches", "batches", "batches", "observe", "drop", "forget", "erase"])
    if act == "batches":
        # A slot is brought whole, or in named parts.
        slots = [watermark - chance.randrange(0, SPAN) for _ in range(chance.randrange(1, 4))]
        keys = {(slot, chance.choice(PARTS[1:]) if slot % 2 else "") for slot in slots}
        values["slots"] = tuple(brought(chance, *key, watermark) for key in sorted(keys))
        past = sorted({part for _, part in keys if part and version % 3 == 0})
        values["parts_past"] = tuple((part, watermark - version % SPAN) for part in past)
    elif act == "observe":
        known = {(watermark - back, ""): Batch(f"seen{version}", 1) for back in range(chance.randrange(0, 9))}
        values |= {"operation": Deed.OBSERVE, "observation": Observation(chance.randrange(0, 9), known)}
    elif act == "drop":
        values["parts_dropped"] = (chance.choice(PARTS[1:]),)
    elif act == "forget":
        stone = Tombstone(("key",), f"{version}", watermark - chance.randrange(0, SPAN))
        values |= {"operation": Deed.FORGET, "tombstones": (stone, stone)}
        whole = [slot for slot, part in sorted(ledger.batches) if not part and slot in ledger.records]
        found = [(slot, dict(list(ledger.records[slot].cells.items())[:1])) for slot in whole if chance.random() < 0.3]
        values["forgotten"] = tuple((slot, cells) for slot, cells in found if cells)
    elif act == "erase":
        keyed = [(key, part_cells(ledger, key)) for key in sorted(ledger.batches) if key[1]]
        some = [one for one in keyed if one[1]][:1]
        values["forgotten_parts"] = tuple(some)
        values["forgotten"] = tuple((key[0], cells) for key, cells in some)
    return Receipt(**{**vars(base), **values})


def test_a_forget_meets_the_batches_that_it_took_something_from_or_may_have() -> None:
    """Slot 1: nothing found. Slot 2: something was. Slot 3 had a record that is not stored. Slot 4 came later."""
    cells = {9: Cell(2, 5)}
    slots = [SlotReceipt(slot, 2 + (slot == 3), 2, slot == 3, 0, 0, 0, cells) for slot in (1, 2, 3, 4)]
    came = Receipt(Deed.UPDATE, "a0", 4, 4, 0, 0, slots=tuple(slots))
    stone = Tombstone(("key",), "digest", 3)
    forget = Receipt(Deed.FORGET, "a1", 5, 4, 0, 0, forgotten=((2, {9: Cell(1, 3)}),), tombstones=(stone,))
    ledger = fold_all(Ledger(), [(0, came), (1, forget)], SPAN)
    assert {slot: batch.erasure for (slot, _), batch in ledger.batches.items()} == {1: 0, 2: 5, 3: 5, 4: 0}
    again = fold_all(ledger, [(2, replace(forget, attempt="a2", head=6, forgotten=()))], SPAN)
    assert again.batches[1, ""].erasure == 0
    assert again.batches[2, ""].erasure == 6, "of what is not all there, nobody can tell"


def brought(chance: random.Random, slot: int, part: str, watermark: int) -> SlotReceipt:
    ends = {watermark + chance.randrange(1, SPAN) for _ in range(chance.randrange(0, 3))}
    cells = {end: Cell(chance.randrange(1, 9), chance.randrange(99)) for end in sorted(ends)}
    rows = sum(cell.rows for cell in cells.values())
    offsets = SlotOffsets("topic", "", {0: (slot, slot + 1)}) if not part and chance.random() < 0.5 else None
    return SlotReceipt(slot, rows, rows, 0, 0, 0, 0, cells, (f"of {slot}",), part, offsets=offsets)


def test_nothing_new_is_the_same_ledger() -> None:
    table = some_history(random.Random(5))
    ledger = fold_all(Ledger(), table.receipts, table.definition.span)
    assert fold_all(ledger, table.receipts, table.definition.span) is ledger
