"""The check before a commit: whole histories pass it, and a row that a join loses or doubles does not."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.indexing.test_plan_histories import random_batch
from tests.support.models.model_table import ModelTable, cells_of, definition_of, random_generation
from tidewheel.commits.conserved import check_conserved
from tidewheel.commits.written import NOTHING_WRITTEN, Written
from tidewheel.indexing.core.cells import Cell
from tidewheel.indexing.core.layouts import Generation, Layout, LayoutKind, Strategy
from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.core.plan import Plan
from tidewheel.indexing.core.state import TableState
from tidewheel.indexing.errors import Damaged


def carried_out(table: ModelTable, batches: dict[int, list[Record]]) -> tuple[TableState, Plan, Written]:
    """An update of a table in memory, as the check sees it."""
    state = table.state()
    plan = table.update(batches)
    before = {file.path for file in state.files}
    cells: dict[tuple[int, int, int], dict[tuple[int, int], Cell]] = {}
    for path, (fact, records) in table.files.items():
        if path not in before:
            there = cells.setdefault(fact.subindex, {})
            for at, cell in cells_of(records).items():
                there[at] = there[at].plus(cell) if at in there else cell
    return state, plan, replace(NOTHING_WRITTEN, cells=cells)


@pytest.mark.parametrize("seed", range(150))
def test_histories_pass_it(seed: int) -> None:
    chance = random.Random(seed)
    span = chance.choice([2, 4, 7])
    files = chance.choice([3, 50])
    table = ModelTable(definition_of(random_generation(chance, 0, span), span), rows_max_per_file=files)
    head = 0
    for _ in range(20):
        if chance.random() < 0.15:
            table.forget(chance.randrange(8))
        head += chance.choice([1, 1, 1, 2])
        slots = {head, head - chance.randrange(0, span)} if chance.random() < 0.3 else {head}
        check_conserved("", *carried_out(table, {slot: random_batch(chance, slot, span) for slot in slots}))


@pytest.mark.parametrize("change", [Cell(-1, 0), Cell(1, 0), Cell(0, 1)], ids=["lost", "doubled", "changed"])
def test_a_wrong_row_in_a_join_of_young_runs_is_noticed(change: Cell) -> None:
    span, noticed = 12, 0
    generation = Generation(0, Layout(LayoutKind.ROUND_ROBIN, 1, span, span), Strategy.EXPIRE_REBUILD, runs_max=3)
    table = ModelTable(definition_of(generation, span))
    for slot in range(2 * span):
        batch = [Record(slot, slot + life, key) for life in range(1, span + 1) for key in range(2)]
        state, plan, written = carried_out(table, {slot: batch})
        staying = {file.path for file in state.files} & table.files.keys()
        for at in {one.file.subindex for one in plan.rewritten}:
            partly = any(table.files[path][0].subindex == at for path in staying)
            cells = dict(written.cells[at])
            old = next(one for one in cells if one[0] != slot)
            cells[old] = cells[old].plus(change)
            with pytest.raises(Damaged, match="does not hold what the ledger says"):
                check_conserved("", state, plan, replace(written, cells={**written.cells, at: cells}))
            noticed += partly
    assert noticed > span
