"""Forecasts: exact for what is stored, and what the planner then does."""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest

from tests.support.models.model_table import ModelTable, definition_of
from tidewheel.indexing.core.layouts import Generation, Layout, LayoutKind, Strategy
from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.cost.forecast import SizesByCell, forecast
from tidewheel.indexing.errors import InvalidInput

SPAN = 8


def generation(strategy: Strategy, rows: int = 2, columns: int = 3, number: int = 1) -> Generation:
    layout = Layout(LayoutKind.ROUND_ROBIN, rows, columns, SPAN)
    return Generation(number, layout, strategy, dead_share_max=1.0, runs_max=100)


def random_cells(chance: random.Random, watermark: int) -> dict[tuple[int, int], tuple[int, int]]:
    return {
        (i, x): (rows := chance.randrange(1, 50), rows * chance.randrange(50, 150))
        for i in range(watermark - SPAN + 1, watermark + 1)
        for x in range(watermark + 1, i + SPAN + 1)
        if chance.random() < 0.7
    }


def steady_cells(watermark: int) -> SizesByCell:
    """A batch a slot: ten rows of a hundred bytes for every lifetime."""
    return {
        (i, x): (10, 1000)
        for i in range(watermark - SPAN + 1, watermark + 1)
        for x in range(watermark + 1, i + SPAN + 1)
    }


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("watermark", [-20, 0, 13])
def test_what_is_stored_expires_exactly_when_it_says(strategy: Strategy, watermark: int) -> None:
    cells = random_cells(random.Random(watermark), watermark)
    for repeated_slots in (0, 3):
        updates = forecast({generation(strategy): cells}, watermark, SPAN + 2, repeated_slots).updates
        for one in updates:
            expired = [size for (_, x), size in cells.items() if x == one.slot]
            alive = [size for (_, x), size in cells.items() if x > one.slot]
            assert (one.expired_rows, one.expired_bytes) == tuple(map(sum, zip(*expired, strict=True))) or not expired
            assert one.live_rows == sum(rows for rows, _ in alive)
            assert one.live_bytes == sum(size for _, size in alive)
        assert [one.slot for one in updates] == list(range(watermark + 1, watermark + SPAN + 3))
        assert updates[-1].live_rows == 0


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 3), (1, 4), (4, 4), (1, 8), (2, 9)])
def test_rewriting_is_what_the_planner_does_when_nothing_more_arrives(
    strategy: Strategy, rows: int, columns: int
) -> None:
    chance = random.Random(rows * 100 + columns)
    own = generation(strategy, rows, columns)
    table = ModelTable(definition_of(own, SPAN), rows_max_per_file=10**6)
    for slot in range(-5, 3 * SPAN):
        records = [Record(slot, slot + chance.randint(1, SPAN), key) for key in range(30)]
        table.update({slot: records})
    assert table.watermark is not None
    counts = Counter((record.slot, record.expiration_slot) for record in table.content())
    cells = {cell: (rows, rows) for cell, rows in counts.items()}
    for one in forecast({own: cells}, table.watermark, SPAN).updates:
        plan = table.update({}, expire_through=one.slot)
        read = {change.file.subindex for change in plan.rewritten}
        kept = [
            record
            for record in table.content()
            if (1, own.layout.row_of(record.slot), own.layout.column_of(record.expiration_slot)) in read
        ]
        assert one.rewritten_bytes == len(kept)
        assert one.live_rows == len(table.content())


@pytest.mark.parametrize("strategy", Strategy)
def test_a_steady_stream_is_forecast_to_stay_steady(strategy: Strategy) -> None:
    result = forecast({generation(strategy): steady_cells(40)}, 40, 3 * SPAN, repeated_slots=4)
    for one in result.updates:
        assert (one.arrived_assumed_rows, one.arrived_assumed_bytes) == (10 * SPAN, 1000 * SPAN)
        assert one.live_rows + one.live_assumed_rows == 10 * SPAN * (SPAN + 1) // 2
        assert one.expired_rows + one.expired_assumed_rows == 10 * SPAN
        assert one.expired_bytes + one.expired_assumed_bytes == 1000 * SPAN
    assert result.updates[-1].live_rows == 0
    assert "last 4 slots" in result.assumption


def test_the_mean_is_over_slots_that_can_still_show_the_lifetime() -> None:
    """Lifetime 1 shows only in the last slot; lifetime 3 in three, of which one brought nothing."""
    cells = {(10, 11): (6, 60), (10, 13): (9, 90), (8, 11): (3, 30)}
    one = forecast({generation(Strategy.REBUILD): cells}, 10, 1, repeated_slots=5).updates[0]
    assert one.arrived_assumed_rows == 6 + (9 + 3) // 3
    newest = forecast({generation(Strategy.REBUILD): cells}, 10, 1, repeated_slots=1).updates[0]
    assert newest.arrived_assumed_rows == 6 + 9


def test_without_arrivals_nothing_is_assumed() -> None:
    result = forecast({generation(Strategy.REBUILD): steady_cells(0)}, 0, SPAN)
    assert result.assumption == "nothing more arrives"
    for one in result.updates:
        assert one.arrived_assumed_rows == one.live_assumed_rows == one.expired_assumed_rows == 0


def test_an_old_generation_empties_while_the_new_one_fills() -> None:
    old, new = generation(Strategy.REBUILD, 2, 2, 1), generation(Strategy.EXPIRE_REBUILD, 1, 4, 2)
    cells = steady_cells(0)
    older = {cell: size for cell, size in cells.items() if cell[0] <= -2}
    newer = {cell: size for cell, size in cells.items() if cell[0] > -2}
    both = forecast({new: newer, old: older}, 0, SPAN, repeated_slots=2)
    alone = forecast({new: cells}, 0, SPAN, repeated_slots=2)
    assert [one.live_rows for one in both.updates] == [one.live_rows for one in alone.updates]
    assert both.updates[0].rewritten_bytes > 0
    assert both.updates[-1].live_assumed_rows == alone.updates[-1].live_assumed_rows


def test_cells_behind_the_watermark_are_over() -> None:
    cells = {(3, 4): (10, 1000), (3, 5): (1, 100)}
    (one,) = forecast({generation(Strategy.NO_REBUILD): cells}, 4, 1).updates
    assert (one.expired_rows, one.live_rows, one.dead_bytes) == (1, 0, 0)


def test_dead_bytes_stay_until_a_file_has_wholly_expired() -> None:
    cells = {(0, 1): (1, 100), (0, 4): (2, 200)}
    updates = forecast({generation(Strategy.NO_REBUILD, 1, 3): cells}, 0, 4).updates
    assert [one.dead_bytes for one in updates] == [100, 100, 100, 0]


def test_an_empty_archive_has_a_forecast() -> None:
    (one,) = forecast({generation(Strategy.REBUILD): {}}, 5, 1, repeated_slots=3).updates
    assert (one.live_rows, one.arrived_assumed_rows, one.rewritten_bytes) == (0, 0, 0)


def test_impossible_questions_are_refused() -> None:
    with pytest.raises(InvalidInput, match="generation"):
        forecast({}, 0, 1)
    for updates, repeated_slots in ((0, 0), (1, -1)):
        with pytest.raises(InvalidInput, match="cannot be forecast"):
            forecast({generation(Strategy.REBUILD): {}}, 0, updates, repeated_slots)


def test_a_forecast_is_json() -> None:
    result = forecast({generation(Strategy.REBUILD): steady_cells(0)}, 0, 2, repeated_slots=1)
    values = json.loads(json.dumps(result.to_json()))
    assert values["watermark"] == 0
    assert values["updates"][1]["expired_rows"] == result.updates[1].expired_rows
