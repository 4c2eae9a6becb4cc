"""The simulation against the planner: the same batches, the same files dropped and rewritten, row for row."""

from __future__ import annotations

import random
from itertools import product

import pytest

from tests.support.models.model_table import ModelTable, definition_of
from tidewheel.indexing.core.layouts import Generation, Layout, LayoutKind, Strategy
from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.core.plan import Plan
from tidewheel.indexing.cost.simulation import Simulation

SHAPES = [
    (LayoutKind.ROUND_ROBIN, 1, 1, 4),
    (LayoutKind.ROUND_ROBIN, 2, 2, 8),
    (LayoutKind.ROUND_ROBIN, 1, 4, 8),
    (LayoutKind.ROUND_ROBIN, 3, 2, 7),
    (LayoutKind.ROUND_ROBIN, 2, 6, 6),
    (LayoutKind.ROUND_ROBIN, 1, 9, 6),
    (LayoutKind.CHRONOLOGICAL, 2, 3, 6),
    (LayoutKind.WAVE_BY_INSERTION, 3, 1, 6),
    (LayoutKind.WAVE_BY_EXPIRATION, 1, 3, 6),
    (LayoutKind.RANDOMIZED, 2, 3, 6),
]
BOUNDS = [(0.5, 16), (0.2, 3), (0.0, 16), (1.0, 1)]


def some_batch(chance: random.Random, slot: int, span: int) -> list[Record]:
    """Three records on average for each lifetime, the short-lived among them; sometimes none at all."""
    if chance.random() < 0.1:
        return []
    lifetimes = [d for d in range(span + 1) for _ in range(chance.choice([0, 1, 8]))]
    return [Record(slot, slot + d, key) for key, d in enumerate(lifetimes)]


def cells(batch: list[Record]) -> dict[int, float]:
    counts: dict[int, float] = {}
    for record in batch:
        counts[record.expiration_slot] = counts.get(record.expiration_slot, 0.0) + 1
    return counts


def rows_read(plan: Plan) -> int:
    return sum(change.file.rows for change in plan.rewritten)


def runs_of(table: ModelTable) -> int:
    return len({(fact.subindex, fact.run) for fact, _ in table.files.values()})


@pytest.mark.parametrize(("dead_share_max", "runs_max"), BOUNDS)
@pytest.mark.parametrize(("kind", "rows", "columns", "span"), SHAPES)
@pytest.mark.parametrize("strategy", Strategy)
def test_it_does_what_the_planner_decides(
    kind: LayoutKind,
    rows: int,
    columns: int,
    span: int,
    strategy: Strategy,
    dead_share_max: float,
    runs_max: int,
) -> None:
    chance = random.Random(f"{kind} {rows} {columns} {strategy} {runs_max}")
    generation = Generation(1, Layout(kind, rows, columns, span), strategy, dead_share_max, runs_max)
    # One file per run: of a run in several files the planner may drop one, which bytes per run do not show.
    table = ModelTable(definition_of(generation, span), rows_max_per_file=10**6)
    simulation = Simulation(generation)
    first = chance.randrange(-20, 20)
    for slot in range(first, first + 4 * span):
        batch = some_batch(chance, slot, span)
        plan, figures = table.update({slot: batch}), simulation.update(slot, cells(batch))
        dropped = {(change.file.subindex, change.file.run) for change in plan.dropped}
        rewritten = {change.file.subindex for change in plan.rewritten}
        assert figures.read_bytes == rows_read(plan)
        assert figures.rewritten_subindices == len(rewritten)
        assert figures.dropped_runs == len(dropped)
        assert figures.appended_bytes == sum(record.expiration_slot > slot for record in batch)
        stored_rows = sum(fact.rows for fact, _ in table.files.values())
        assert simulation.stored.runs == runs_of(table)
        assert simulation.stored.live_bytes == len(table.content())
        assert simulation.stored.dead_bytes == stored_rows - len(table.content())


def test_what_is_stored_adds_up_after_every_update() -> None:
    layout = Layout(LayoutKind.ROUND_ROBIN, 2, 3, span=12)
    generation = Generation(1, layout, Strategy.NO_REBUILD, target_file_bytes=3)
    simulation = Simulation(generation)
    for slot in range(40):
        figures = simulation.update(slot, {slot + d: 1.0 for d in range(1, 13)})
        assert figures.appended_bytes == 12
        assert simulation.stored.runs == sum(simulation.run_counts().values())
        assert simulation.stored.files >= simulation.stored.runs
    assert simulation.stored.live_bytes == 78


def test_a_touch_is_counted_once_where_row_and_column_cross() -> None:
    for rows, columns in product((1, 2, 4), (1, 2, 4)):
        layout = Layout(LayoutKind.ROUND_ROBIN, rows, columns, span=16)
        simulation = Simulation(Generation(1, layout, Strategy.NO_REBUILD))
        touched = [
            simulation.update(slot, {slot + d: 1.0 for d in range(1, 17)}).touched_subindices for slot in range(48)
        ]
        assert set(touched[16:]) == {rows + columns - 1}


def test_an_expiry_alone_adds_nothing_and_empties_the_archive() -> None:
    layout = Layout(LayoutKind.ROUND_ROBIN, 2, 2, span=4)
    simulation = Simulation(Generation(1, layout, Strategy.EXPIRE_REBUILD))
    simulation.store((0, 1), {1: 2.0, 3: 5.0})
    assert simulation.update(1, None).rewritten_bytes == 5.0
    assert simulation.update(2, None).touched_subindices == 0
    assert simulation.update(3, None).dropped_runs == 1
    assert simulation.stored.runs == 0
    assert simulation.run_counts() == {}
