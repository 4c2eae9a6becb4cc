"""How well trees weave: the share of edges they have in common, and what one tree of two saves."""

from __future__ import annotations

from fractions import Fraction
from math import gcd, lcm

from tidewheel.queries.planning.loom import Loom, Tree
from tidewheel.queries.planning.phases import Phases


def weaveability(loom: Loom, one: Tree, other: Tree) -> Fraction:
    """Common edges by distinct edges: 1 for equal edges, which weave perfectly."""
    count = loom.space.count
    together = count(loom.space.union(one.edges, other.edges))
    return Fraction(count(one.edges) + count(other.edges) - together, together)


def pair_edge_rate(one: Phases, other: Phases) -> Fraction:
    """Edges per unit of two windows together, without looking at a single edge.

    Phases of one window do not meet; of two, they meet once in the common multiple of their slides or never.

    >>> from tidewheel.queries.planning.phases import phases_of
    >>> from tidewheel.queries.windows import Window
    >>> pair_edge_rate(phases_of(Window(12, 9)), phases_of(Window(10, 6)))
    Fraction(4, 9)
    """
    (slide, _), (other_slide, _) = next(iter(one)), next(iter(other))
    shared = gcd(slide, other_slide)
    common = sum((a - b) % shared == 0 for _, a in one for _, b in other)
    alone = Fraction(len(one), slide) + Fraction(len(other), other_slide)
    return alone - Fraction(common, lcm(slide, other_slide))
