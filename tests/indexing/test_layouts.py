"""The five layouts, exhaustively for small spans and on both sides of slot 0."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import product

import pytest

from tidewheel.indexing.core.layouts import Generation, Layout, LayoutKind, Strategy, hashed_class
from tidewheel.indexing.errors import InvalidInput


def small_layouts() -> Iterator[Layout]:
    for kind, rows, columns, span in product(LayoutKind, range(1, 5), range(1, 5), range(1, 7)):
        if kind is LayoutKind.WAVE_BY_INSERTION and columns > 1:
            continue
        if kind is LayoutKind.WAVE_BY_EXPIRATION and rows > 1:
            continue
        yield Layout(kind, rows, columns, span, seed=7)


LAYOUTS = list(small_layouts())
PERIODIC = [layout for layout in LAYOUTS if layout.kind is not LayoutKind.RANDOMIZED]


def test_every_slot_has_a_class() -> None:
    for layout in LAYOUTS:
        for slot in range(-3 * layout.span, 3 * layout.span):
            assert 0 <= layout.row_of(slot) < layout.insertion_classes
            assert 0 <= layout.column_of(slot) < layout.expiration_classes


def test_round_robin_gives_consecutive_slots_consecutive_classes() -> None:
    for layout in PERIODIC:
        if layout.kind is LayoutKind.ROUND_ROBIN:
            for slot in range(-20, 20):
                following = (layout.row_of(slot) + 1) % layout.insertion_classes
                assert layout.row_of(slot + 1) == following


def test_other_layouts_cut_a_span_into_contiguous_classes_that_differ_by_one_slot_at_most() -> None:
    for layout in PERIODIC:
        if layout.kind is LayoutKind.ROUND_ROBIN:
            continue
        for start in (-layout.span, 0, layout.span):
            columns = [layout.column_of(slot) for slot in range(start, start + layout.span)]
            assert columns == sorted(columns)
            sizes = Counter(columns)
            used = min(layout.span, layout.expiration_classes)
            assert len(sizes) == used
            assert max(sizes.values()) - min(sizes.values()) <= 1


def test_a_subindex_that_loses_a_range_gains_the_one_a_span_later_where_the_classes_divide_the_span() -> None:
    for layout in PERIODIC:
        divides = not (layout.span % layout.insertion_classes or layout.span % layout.expiration_classes)
        if divides or layout.kind is not LayoutKind.ROUND_ROBIN:
            for slot in range(-10, 10):
                assert layout.row_of(slot) == layout.row_of(slot + layout.span)
                assert layout.column_of(slot) == layout.column_of(slot + layout.span)


def test_columns_between_are_those_of_the_slots_passed() -> None:
    for layout in LAYOUTS:
        for after, passed in product(range(-7, 8), range(0, 9)):
            through = after + passed
            expected = {layout.column_of(slot) for slot in range(after + 1, through + 1)}
            assert layout.columns_between(after, through) == expected


def test_a_far_jump_of_the_watermark_costs_no_more_than_the_columns() -> None:
    layout = Layout(LayoutKind.ROUND_ROBIN, 4, 4, span=36)
    assert layout.columns_between(-(10**12), 10**12) == {0, 1, 2, 3}


def test_randomized_classes_are_fixed_for_ever() -> None:
    """These values are in tables already: whoever computes them elsewhere must find the same."""
    assert [hashed_class(0, "insertion", slot, 4) for slot in range(-3, 5)] == [2, 3, 2, 3, 3, 1, 2, 1]
    assert [hashed_class(0, "expiration", slot, 4) for slot in range(-3, 5)] == [2, 0, 1, 3, 2, 0, 3, 2]


def test_randomized_classes_are_spread_and_depend_on_seed_and_axis() -> None:
    first, second = (Layout(LayoutKind.RANDOMIZED, 4, 4, span=8, seed=seed) for seed in (1, 2))
    slots = range(-2000, 2000)
    rows = [first.row_of(slot) for slot in slots]
    assert all(900 < size < 1100 for size in Counter(rows).values())
    assert rows != [second.row_of(slot) for slot in slots]
    assert rows != [first.column_of(slot) for slot in slots]


@pytest.mark.parametrize(
    ("kind", "rows", "columns", "span"),
    [
        (LayoutKind.ROUND_ROBIN, 0, 1, 1),
        (LayoutKind.ROUND_ROBIN, 1, 0, 1),
        (LayoutKind.ROUND_ROBIN, 1, 1, 0),
        (LayoutKind.WAVE_BY_INSERTION, 2, 2, 8),
        (LayoutKind.WAVE_BY_EXPIRATION, 2, 2, 8),
    ],
)
def test_impossible_layouts_are_refused(kind: LayoutKind, rows: int, columns: int, span: int) -> None:
    with pytest.raises(InvalidInput):
        Layout(kind, rows, columns, span)


@pytest.mark.parametrize(
    "bounds",
    [{"dead_share_max": -0.1}, {"dead_share_max": 1.1}, {"runs_max": 0}, {"target_file_bytes": 0}],
    ids=str,
)
def test_impossible_bounds_are_refused(bounds: dict[str, float]) -> None:
    with pytest.raises(InvalidInput):
        Generation(1, Layout(LayoutKind.ROUND_ROBIN, 2, 2, span=8), Strategy.REBUILD, **bounds)  # type: ignore[arg-type]


def test_a_generation_survives_json() -> None:
    for layout, strategy in product(LAYOUTS[::17], Strategy):
        generation = Generation(3, layout, strategy, dead_share_max=0.25, runs_max=5)
        assert Generation.from_json(json.loads(json.dumps(generation.to_json()))) == generation
