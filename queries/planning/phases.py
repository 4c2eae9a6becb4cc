"""Edges as phases: (slide, shift) stands for all moments that equal the shift modulo the slide.

A window cut by Pairs has one or two phases, a tree the union of its members'. Everything about edges is decided on
phases, so neither offsets nor long periods cost anything here.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd, lcm

from tidewheel.queries.slicing import Slicing, edge_offsets
from tidewheel.queries.windows import Window

Phase = tuple[int, int]
Phases = frozenset[Phase]


def phases_of(window: Window, slicing: Slicing = Slicing.PAIRS) -> Phases:
    """
    >>> sorted(phases_of(Window(15, 9))), sorted(phases_of(Window(5, 5)))
    ([(9, 0), (9, 3)], [(5, 0)])
    """
    return frozenset((window.slide, shift) for shift in edge_offsets(window, slicing))


def window_starting(length: int, slide: int, offset: int) -> Window:
    """The window that begins at offset + any multiple of the slide: our offsets say where windows end."""
    return Window(length, slide, (offset + length) % slide)


def meet(one: Phase, other: Phase) -> Phase | None:
    """The moments two phases have in common, again a phase (Chinese remainder theorem); None if there are none.

    The overlap check of the literature: they meet if the greatest common divisor of the slides divides the
    difference of the shifts.

    >>> meet((3, 0), (6, 3)), meet((3, 0), (6, 2)), meet((4, 1), (6, 3))
    ((6, 3), None, (12, 9))
    """
    (slide, shift), (other_slide, other_shift) = one, other
    shared = gcd(slide, other_slide)
    apart = other_shift - shift
    if apart % shared:
        return None
    rest = other_slide // shared
    turns = apart // shared * pow(slide // shared, -1, rest) % rest
    return slide * rest, (shift + slide * turns) % (slide * rest)


def reduced(phases: Iterable[Phase]) -> list[Phase]:
    """Without phases that lie within others, ascending. The period may shrink; the rate of edges stays.

    >>> reduced([(2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (4, 1)])
    [(2, 0), (3, 0), (4, 1), (5, 0)]
    """
    kept: list[Phase] = []
    for slide, shift in sorted(set(phases)):
        if not any(slide % other == 0 and shift % other == other_shift for other, other_shift in kept):
            kept.append((slide, shift))
    return kept


def components(phases: Iterable[Phase]) -> list[list[Phase]]:
    """Parts whose slides have no divisor in common with those of other parts.

    Between parts everything is independent: what is no edge of any is the product of what is no edge of each.

    >>> components([(2, 0), (3, 0), (10, 5), (9, 1)])
    [[(2, 0), (10, 5)], [(3, 0), (9, 1)]]
    """
    parts: list[tuple[int, list[Phase]]] = []
    for phase in sorted(phases):
        touched = [part for part in parts if gcd(part[0], phase[0]) > 1]
        parts = [part for part in parts if gcd(part[0], phase[0]) == 1]
        members = [member for _, part in touched for member in part]
        parts.append((lcm(phase[0], *(slide for slide, _ in touched)), [*members, phase]))
    return sorted(part for _, part in parts)


def period_of(phases: Iterable[Phase]) -> int:
    return lcm(*(slide for slide, _ in phases))
