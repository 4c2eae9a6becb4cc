"""Balance of the layouts, by counting cells; what the thesis says of it, against the count."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import lcm

import pytest

from tidewheel.indexing.core.layouts import Layout, LayoutKind
from tidewheel.indexing.cost.balance import (
    live_cells,
    period_slots,
    round_robin_cells,
    round_robin_squared_deviations,
    squared_deviations,
    squared_deviations_mean,
    subindex_cells,
    thesis_chronological_squared_deviations,
    thesis_round_robin_squared_deviations,
)
from tidewheel.indexing.errors import InvalidInput

SQUARES = [(classes, classes * slots) for classes in range(2, 7) for slots in range(2, 36 // classes + 1)]


def round_robin(classes: int, span: int) -> Layout:
    return Layout(LayoutKind.ROUND_ROBIN, classes, classes, span)


def chronological(classes: int, span: int) -> Layout:
    return Layout(LayoutKind.CHRONOLOGICAL, classes, classes, span)


def test_live_cells_are_those_of_the_slots_that_can_still_live() -> None:
    for span in range(1, 9):
        for watermark in (-5, 0, 3):
            expected = {
                (i, x)
                for i in range(watermark - 3 * span, watermark + 1)
                for x in range(i, i + span + 1)
                if x > watermark
            }
            assert set(live_cells(span, watermark)) == expected
            assert len(expected) == span * (span + 1) // 2


@pytest.mark.parametrize(("classes", "span"), SQUARES)
def test_the_closed_forms_of_round_robin_are_exact_after_every_update(classes: int, span: int) -> None:
    for watermark in range(-classes, classes):
        counts = subindex_cells(round_robin(classes, span), watermark)
        assert Counter(counts) == round_robin_cells(span, classes)
        assert squared_deviations(counts) == round_robin_squared_deviations(span, classes)


@pytest.mark.parametrize(("classes", "span"), SQUARES)
def test_theorem_4_1_round_robin_is_more_even_than_chronological(classes: int, span: int) -> None:
    even, uneven = round_robin(classes, span), chronological(classes, span)
    assert squared_deviations_mean(even) < squared_deviations_mean(uneven)


@pytest.mark.parametrize(("classes", "span"), SQUARES)
def test_the_closed_forms_of_the_thesis_are_not_the_count(classes: int, span: int) -> None:
    """Chronological: right for r = 2, too low above. Round robin: always too high."""
    counted = squared_deviations_mean(chronological(classes, span))
    claimed = thesis_chronological_squared_deviations(span, classes)
    assert claimed == counted if classes == 2 else claimed < counted
    assert thesis_round_robin_squared_deviations(span, classes) > round_robin_squared_deviations(span, classes)


def test_deviations_of_any_layout_are_counted() -> None:
    for rows, columns, span in [(5, 5, 36), (2, 3, 7), (1, 4, 9), (3, 1, 4)]:
        layout = Layout(LayoutKind.ROUND_ROBIN, rows, columns, span)
        counts = subindex_cells(layout, -4)
        assert sum(counts) == span * (span + 1) // 2
        assert len(counts) == rows * columns
        assert squared_deviations_mean(layout) >= 0


def test_the_mean_over_one_period_is_the_mean_over_two() -> None:
    for layout in (round_robin(3, 7), chronological(3, 7), Layout(LayoutKind.WAVE_BY_EXPIRATION, 1, 3, 7)):
        period = period_slots(layout)
        twice = [squared_deviations(subindex_cells(layout, w)) for w in range(2 * period)]
        assert squared_deviations_mean(layout) == sum(twice, start=Fraction(0)) / (2 * period)


def test_periods() -> None:
    assert period_slots(Layout(LayoutKind.ROUND_ROBIN, 4, 6, 36)) == lcm(4, 6)
    assert period_slots(Layout(LayoutKind.WAVE_BY_INSERTION, 4, 1, 36)) == 36
    with pytest.raises(InvalidInput, match="no period"):
        period_slots(Layout(LayoutKind.RANDOMIZED, 2, 2, 8))


@pytest.mark.parametrize("classes", [0, 5])
def test_closed_forms_refuse_classes_that_do_not_divide_the_span(classes: int) -> None:
    with pytest.raises(InvalidInput, match="divide"):
        round_robin_cells(8, classes)
    with pytest.raises(InvalidInput, match="divide"):
        round_robin_squared_deviations(8, classes)
