"""How evenly a layout spreads the live cells over its sub-indices.

With a constant rate and uniform lifetimes every live cell (insertion slot, expiration slot) holds about as
much as any other, so counting cells is counting data. After update k the live cells form a triangle:

    insertion slot   k−p+1 … k
    expiration slot  k+1 … insertion slot + p         p(p+1)/2 cells in all

The reference is the enumeration. Two closed forms of the thesis (Golab, Sliding Window Query Processing over
Data Streams, Waterloo 2006, chapter 4) do not agree with it; they stay here under names that begin with
`thesis_`, so that what it says can be tested against the count. Its theorem 4.1, round robin is the more
even, does hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import lcm

from tidewheel.indexing.core.layouts import Layout, LayoutKind
from tidewheel.indexing.errors import InvalidInput


def live_cells(span: int, watermark: int = 0) -> Iterator[tuple[int, int]]:
    """Return the cells that may hold live records after an update. Cost: p(p+1)/2.

    >>> list(live_cells(2))
    [(-1, 1), (0, 1), (0, 2)]
    """
    for insertion_slot in range(watermark - span + 1, watermark + 1):
        for expiration_slot in range(watermark + 1, insertion_slot + span + 1):
            yield insertion_slot, expiration_slot


def subindex_cells(layout: Layout, watermark: int = 0) -> tuple[int, ...]:
    """Return the live cells per sub-index after an update, row by row: I₁, I₂, … Cost: p(p+1)/2.

    >>> subindex_cells(Layout(LayoutKind.ROUND_ROBIN, 2, 2, span=8))
    (10, 10, 6, 10)
    """
    counts = [0] * (layout.insertion_classes * layout.expiration_classes)
    for insertion_slot, expiration_slot in live_cells(layout.span, watermark):
        g, e = layout.row_of(insertion_slot), layout.column_of(expiration_slot)
        counts[g * layout.expiration_classes + e] += 1
    return tuple(counts)


def squared_deviations(counts: Sequence[int]) -> Fraction:
    """Return the sum of squared deviations from the mean, exactly.

    >>> squared_deviations([10, 10, 6, 10])
    Fraction(12, 1)
    """
    return sum(count * count for count in counts) - Fraction(sum(counts) ** 2, len(counts))


def squared_deviations_mean(layout: Layout) -> Fraction:
    """Return the sum of squared deviations averaged over one period of the layout. Cost: period · p²/2.

    >>> squared_deviations_mean(Layout(LayoutKind.CHRONOLOGICAL, 2, 2, span=8))
    Fraction(52, 1)
    """
    period = period_slots(layout)
    deviations = (squared_deviations(subindex_cells(layout, watermark)) for watermark in range(period))
    return sum(deviations, start=Fraction(0)) / period


def period_slots(layout: Layout) -> int:
    """Return after how many slots a layout assigns as before; refuse the randomized one, which never does.

    >>> period_slots(Layout(LayoutKind.ROUND_ROBIN, 2, 3, span=8))
    6
    """
    if layout.kind is LayoutKind.RANDOMIZED:
        raise InvalidInput("a randomized layout has no period", "average over as many updates as you need")
    if layout.kind is LayoutKind.ROUND_ROBIN:
        return lcm(layout.insertion_classes, layout.expiration_classes)
    return layout.span


def round_robin_cells(span: int, classes: int) -> dict[int, int]:
    """The closed form for round robin, r×r with r a divisor of p: cells in a sub-index → sub-indices so full.

    Which of them are the fuller ones changes with every update; how many there are does not.

    >>> round_robin_cells(8, 2)
    {10: 3, 6: 1}
    """
    slots = _slots_per_class(span, classes)
    fuller = classes * (classes + 1) // 2
    return {slots * (slots + 1) // 2: fuller, slots * (slots - 1) // 2: classes * classes - fuller}


def round_robin_squared_deviations(span: int, classes: int) -> Fraction:
    """The closed form for round robin, r×r with r a divisor of p: m²·a·(n−a)/n, m = p/r, a = r(r+1)/2.

    >>> round_robin_squared_deviations(24, 4)
    Fraction(135, 1)
    """
    slots = _slots_per_class(span, classes)
    n, fuller = classes * classes, classes * (classes + 1) // 2
    return Fraction(slots * slots * fuller * (n - fuller), n)


def thesis_round_robin_squared_deviations(span: int, classes: int) -> Fraction:
    """The thesis's var_RR = (p²/2)(1/2 + 1/(2n) + 1/(nr)): above the enumeration wherever r ≥ 2."""
    n = classes * classes
    return Fraction(span * span, 2) * (Fraction(1, 2) + Fraction(1, 2 * n) + Fraction(1, n * classes))


def thesis_chronological_squared_deviations(span: int, classes: int) -> Fraction:
    """The thesis's var_Ch = p²/(12r) − p²/(4n) + p⁴/(12n) − p⁴/(12nr) + p²/6: right for r = 2 only."""
    n, p2, p4 = classes * classes, span**2, span**4
    return (
        Fraction(p2, 12 * classes)
        - Fraction(p2, 4 * n)
        + Fraction(p4, 12 * n)
        - Fraction(p4, 12 * n * classes)
        + Fraction(p2, 6)
    )


def _slots_per_class(span: int, classes: int) -> int:
    if classes < 1 or span % classes:
        raise InvalidInput(
            f"the closed form needs classes that divide the span; {classes} does not divide {span}",
            "use squared_deviations_mean, which counts",
        )
    return span // classes
