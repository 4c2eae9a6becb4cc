"""The edges of all trees of one workload, in the form that is cheapest to unite and to count.

Where the common period is short, a tree's edges are the bits of one whole number: united by OR, counted by popcount.
Else they are phases, whose rate is counted by formula and remembered. Both count over one `length`, so counts of
different trees compare as whole numbers, and the rate is count / length per unit.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import gcd
from typing import Any, Protocol

from tidewheel.queries.planning.edge_counts import edge_rate
from tidewheel.queries.planning.phases import Phase, Phases, period_of, reduced

BITS_EACH_MAX = 1 << 18
BITS_ALL_MAX = 1 << 30

Edges = Any  # a whole number of bits, or phases: only the space that made it looks inside


class EdgeSpace(Protocol):
    length: int

    def edges(self, phases: Phases) -> Edges: ...
    def union(self, one: Edges, other: Edges) -> Edges: ...
    def count(self, edges: Edges) -> int: ...


class BitSpace:
    """Bit k is the moment k quanta after the period's begin; the quantum divides every slide and shift."""

    def __init__(self, phases: Iterable[Phase], period: int) -> None:
        self._quantum = quantum_of(phases)
        self._bits = period // self._quantum
        self._known: dict[Phase, int] = {}
        self.length = period

    def edges(self, phases: Phases) -> int:
        bits = 0
        for phase in phases:
            bits |= self._known.get(phase) or self._mark(phase)
        return bits

    def _mark(self, phase: Phase) -> int:
        slide, shift = phase[0] // self._quantum, phase[1] // self._quantum
        bits, width = 1, slide
        while width < self._bits:
            bits |= bits << width
            width *= 2
        self._known[phase] = marked = (bits << shift) & ((1 << self._bits) - 1)
        return marked

    def union(self, one: int, other: int) -> int:
        return one | other

    def count(self, edges: int) -> int:
        return edges.bit_count()


class PhaseSpace:
    """Phases, of which each set is counted once."""

    def __init__(self, period: int) -> None:
        self.length = period
        self.counted: dict[Phases, int] = {}

    def edges(self, phases: Phases) -> Phases:
        return frozenset(reduced(phases))

    def union(self, one: Phases, other: Phases) -> Phases:
        return one if one == other else frozenset(reduced(one | other))

    def count(self, edges: Phases) -> int:
        count = self.counted.get(edges)
        if count is None:
            rate = edge_rate(edges)
            self.counted[edges] = count = rate.numerator * (self.length // rate.denominator)
        return count


def quantum_of(phases: Iterable[Phase]) -> int:
    return gcd(*(value for phase in phases for value in phase)) or 1


def edge_space(wanted: Iterable[Phases]) -> EdgeSpace:
    """A space for trees made of these."""
    each = list(wanted)
    phases = frozenset[Phase]().union(*each)
    period = period_of(phases)
    bits = period // quantum_of(phases)
    if bits <= BITS_EACH_MAX and bits * len(each) <= BITS_ALL_MAX:
        return BitSpace(phases, period)
    return PhaseSpace(period)


def rate_of(space: EdgeSpace, edges: Edges) -> Fraction:
    return Fraction(space.count(edges), space.length)
