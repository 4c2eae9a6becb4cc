"""The feed of changes: applied to the cells of one version it gives the cells of the next, whatever happened."""

from __future__ import annotations

import random

import pytest

from tests.indexing.test_plan_histories import random_batch
from tests.support.models.model_table import ModelTable, definition_of, random_generation
from tidewheel.indexing.core.batch_map import Batch
from tidewheel.indexing.core.cells import Cell
from tidewheel.indexing.core.folding import fold_all
from tidewheel.indexing.core.ledger import Ledger
from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.core.receipts import Deed, Observation, Receipt, SlotReceipt
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.rules.changes import Change, Why, cells_after, changes_between


def some_history(chance: random.Random) -> ModelTable:
    span = chance.choice([1, 2, 4, 7])
    table = ModelTable(definition_of(random_generation(chance, 0, span), span))
    head = chance.randrange(-5, 5)
    for _ in range(chance.randrange(3, 25)):
        act = chance.choice(["next", "next", "back", "jump", "expire", "forget", "migrate", "undo"])
        if act == "forget":
            table.forget(chance.randrange(8))
        elif act == "migrate":
            number = table.definition.current.number + 1
            table.migrate(random_generation(chance, number, span), relocate=chance.random() < 0.5)
        elif act == "expire":
            table.update({}, expire_through=head + chance.randrange(0, 3))
        elif act == "undo" and table.version > 1:
            try:
                table.undo(chance.randrange(0, table.version))
            except (InvalidInput, KeyError):
                continue
        else:
            slot = head + {"back": -chance.randrange(0, span + 3), "jump": chance.randrange(1, 2 * span + 2)}.get(
                act, 1
            )
            table.update({slot: random_batch(chance, slot, span)})
            head = max(head, slot)
    return table


def feed(table: ModelTable, since: int) -> list[Change]:
    known = [one for one in table.receipts if one[0] <= since]
    span = table.definition.span
    return list(changes_between(fold_all(Ledger(), known, span), table.receipts, span))


@pytest.mark.parametrize("block", range(4))
def test_applying_the_feed_gives_the_cells_of_every_later_version(block: int) -> None:
    for seed in range(block * 150, (block + 1) * 150):
        chance = random.Random(seed)
        table = some_history(chance)
        since = chance.randrange(0, table.version + 1)
        cells = table.past[since][1].cells() if since in table.past else {}
        for change in feed(table, since):
            cells = cells_after(cells, change)
            assert cells == table.past[change.version][1].cells(), f"history seed {seed}, version {change.version}"


def test_each_reason_is_told() -> None:
    table = ModelTable(definition_of(random_generation(random.Random(1), 0, 4), 4))
    table.update({0: [Record(0, 2, "a"), Record(0, 3, "b"), Record(0, 4, "c")]})
    table.update({0: [Record(0, 2, "a"), Record(0, 4, "c")]})
    table.forget("c")
    before = table.version
    table.update({2: [Record(2, 5, "d")]})
    table.undo(before)
    changes = feed(table, 0)
    told = [({one.why for one in change.came}, {one.why for one in change.left}) for change in changes]
    assert told == [
        ({Why.BATCH}, set()),
        ({Why.BATCH}, {Why.REPLACED}),
        (set(), {Why.FORGOTTEN}),
        ({Why.BATCH}, {Why.EXPIRED}),
        ({Why.UNDONE}, {Why.UNDONE}),
    ]
    assert [change.batches for change in changes[:2]] == [(((0, ""), "1"),), (((0, ""), "2"),)]
    assert changes[-1].batches_gone == ((2, ""),)


def part_receipt(head: int, slot: int, part: str, rows: int, watermark: int) -> Receipt:
    cells = {slot + 3: Cell(rows, rows)} if rows else {}
    one = SlotReceipt(slot, rows, rows, 0, 0, 0, 0, cells, (f"digest{rows}",), part)
    observation = Observation(4) if head == 0 else None
    return Receipt(Deed.UPDATE, f"a{head}", head, watermark, 0, 0, slots=(one,), observation=observation)


def test_a_part_of_a_slot_is_replaced_without_the_others() -> None:
    receipts = [
        (0, part_receipt(0, 5, "hourly", 3, 5)),
        (1, part_receipt(1, 5, "daily", 4, 5)),
        (2, part_receipt(2, 5, "hourly", 1, 5)),
        (3, part_receipt(3, 6, "hourly", 2, 6)),
    ]
    ledger = fold_all(Ledger(), receipts, 100)
    assert ledger.cells() == {(5, 8): Cell(5, 5), (6, 9): Cell(2, 2)}
    assert ledger.batches[(5, "hourly")] == Batch("a2", 1, revision=1, lineage=("digest1",), cells={8: Cell(1, 1)})
    assert ledger.batches[(5, "daily")].attempt == "a1"
    assert Ledger.from_json(ledger.to_json()) == ledger
    assert [Receipt.from_json(one.to_json()) for _, one in receipts] == [one for _, one in receipts]
    cells: dict[tuple[int, int], Cell] = {}
    for change in changes_between(Ledger(), receipts, 100):
        cells = cells_after(cells, change)
    assert cells == ledger.cells()
    # Parts are told of as long as somebody compares them, whole slots as long as they may live.
    later = fold_all(ledger, [(4, part_receipt(4, 9, "hourly", 1, 9))], 100)
    assert {slot for slot, _ in later.batches} == {6, 9}
    assert later.cells() == {(9, 12): Cell(1, 1)}


@pytest.mark.parametrize("seed", range(100))
def test_the_batch_map_tells_of_every_recent_slot(seed: int) -> None:
    """Cells or none: a slot that brought nothing alive is in it, and a forget marks all that it may concern: those that
    had such a record, those of which a record was gone before, and those that are empty."""
    chance = random.Random(seed)
    span, table = 4, ModelTable(definition_of(random_generation(chance, 0, 4), 4))
    latest: dict[int, str] = {}
    erased: dict[int, int] = {}
    came: dict[int, list[Record]] = {}
    stones: list[tuple[object, int]] = []

    def is_there(record: Record) -> bool:
        assert table.watermark is not None
        forgotten = any(record.key == key and record.slot <= bound for key, bound in stones)
        return record.expiration_slot > table.watermark and not forgotten

    for _ in range(15):
        newest = max(latest, default=0)
        if chance.random() < 0.2 and latest:
            key = chance.randrange(8)
            table.forget(key)
            free = {
                slot for slot, some in came.items() if some and all(is_there(one) and one.key != key for one in some)
            }
            met = latest.keys() - free
            erased.update(dict.fromkeys(met, table.version))
            stones.append((key, newest))
            continue
        slot = newest + chance.choice([-3, -1, 0, 1, 1, 2])
        came[slot] = random_batch(chance, slot, span)
        table.update({slot: came[slot]})
        latest[slot] = str(table.version)
        erased.pop(slot, None)
        assert table.watermark is not None
        told = {slot for slot in latest if slot > table.watermark - span}
        batches = {slot: batch for (slot, _), batch in table.ledger.batches.items()}
        assert told <= batches.keys()
        for one in told:
            assert (batches[one].attempt, batches[one].erasure) == (latest[one], erased.get(one, 0))
    assert Ledger.from_json(table.ledger.to_json()) == table.ledger


def test_what_a_later_program_wrote_is_read_by_this_one() -> None:
    receipt = part_receipt(0, 5, "", 3, 5)
    values = receipt.to_json()
    values["colour"], values["slots"][0]["colour"] = "blue", "red"
    assert Receipt.from_json(values) == receipt
    ledger = fold_all(Ledger(), [(0, receipt)], 9).to_json()
    ledger["colour"], ledger["records"][0]["colour"] = "blue", "red"
    assert Ledger.from_json(ledger).cells() == {(5, 8): Cell(3, 3)}


def test_steps_that_an_earlier_program_named_with_blanks_have_names_of_one_word() -> None:
    values = part_receipt(0, 5, "", 3, 5).to_json() | {"timings_ms": {"write": 3, "side tables": 4, "read back": 5}}
    assert Receipt.from_json(values).timings_ms == {"write": 3, "side_tables": 4, "read_back": 5}
