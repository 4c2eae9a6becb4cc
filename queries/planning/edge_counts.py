"""How many edges a tree has per unit of time, exactly, by four ways that agree.

- Bit Set marks each edge of one period and counts the marks: its cost is the period.
- F1 is inclusion and exclusion over all groups of phases that meet: its cost is 2 to the number of phases.
- F1 collapsed adds up groups with the same common phase at once, most of which cancel: its cost is the number of
  *different* common phases. It is the way in use wherever the period is long.
- Parts without common divisors are counted apart and multiplied: the moments that are no edge are independent.

Counts depend on the period that is looked at, rates do not: rates are compared.
Departs from the printed listing: phases that lie within others are left out if their shifts agree, not only of shift 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations
from math import lcm

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.planning.phases import Phase, components, meet, period_of, reduced

PHASES_LITERAL_MAX = 20
TERMS_MAX = 1_000_000
BITS_MAX = 100_000_000


def bit_set(phases: Iterable[Phase]) -> int:
    """Edges of one period, marked one by one in an array of the period's length."""
    phases = list(phases)
    marks = bytearray(period_of(phases))
    for slide, shift in phases:
        marks[shift % slide :: slide] = b"\1" * (len(marks) // slide)
    return sum(marks)


def f1(phases: Iterable[Phase]) -> int:
    """Edges of one period by the literal formula: each group of phases that meet, with alternating sign.

    That all pairs of a group meet suffices for the group to meet, which the formula takes for granted.

    >>> f1([(3, 0), (4, 0), (4, 3), (6, 0), (6, 2), (9, 0)])
    27
    """
    phases = list(phases)
    if len(phases) > PHASES_LITERAL_MAX:
        raise InvalidInput(
            f"the literal formula over {len(phases)} phases has 2^{len(phases)} terms",
            f"use the collapsed form for more than {PHASES_LITERAL_MAX}",
        )
    period = period_of(phases)
    return sum((-1) ** (size + 1) * term for size, term in enumerate(f1_terms(phases, period), start=1))


def f1_terms(phases: list[Phase], period: int) -> list[int]:
    """The terms of the formula without their signs: edges common to groups of 1, 2, ... phases."""
    return [
        sum(
            period // lcm(*(slide for slide, _ in group))
            for group in combinations(phases, size)
            if all(meet(one, other) for one, other in combinations(group, 2))
        )
        for size in range(1, len(phases) + 1)
    ]


def f1_collapsed(phases: Iterable[Phase], terms_max: int = TERMS_MAX) -> Fraction | None:
    """The rate of edges; None if there are more different common phases than that."""
    terms: dict[Phase, int] = {}
    for phase in phases:
        fresh: dict[Phase, int] = {phase: 1}
        for term, coefficient in terms.items():
            common = meet(term, phase)
            if common is not None:
                fresh[common] = fresh.get(common, 0) - coefficient
        for term, coefficient in fresh.items():
            total = terms.get(term, 0) + coefficient
            if total:
                terms[term] = total
            else:
                terms.pop(term, None)
        if len(terms) > terms_max:
            return None
    period = period_of(terms)
    return Fraction(sum(coefficient * (period // slide) for (slide, _), coefficient in terms.items()), period)


def edge_rate(phases: Iterable[Phase], terms_max: int = TERMS_MAX, bits_max: int = BITS_MAX) -> Fraction:
    """Edges per unit of time, by whichever way is right for these phases.

    >>> edge_rate([(2, 0), (3, 0), (4, 0), (5, 0), (6, 0)])
    Fraction(11, 15)
    """
    idle = Fraction(1)
    for part in components(reduced(phases)):
        idle *= 1 - _rate_of_part(part, terms_max, bits_max)
    return 1 - idle


def _rate_of_part(part: list[Phase], terms_max: int, bits_max: int) -> Fraction:
    if len(part) == 1:
        return Fraction(1, part[0][0])
    period = period_of(part)
    # What marking would do in the same time bounds the terms, so that neither way is ever the slow one.
    marks = sum(period // slide for slide, _ in part)
    rate = f1_collapsed(part, min(terms_max, max(marks, 100)) if period <= bits_max else terms_max)
    if rate is not None:
        return rate
    if period <= bits_max:
        return Fraction(bit_set(part), period)
    raise InvalidInput(
        f"cannot count edges: {len(part)} slide families, composite slide {period:.3g}, over {terms_max:,} terms",
        "round slides to a common unit, or forbid sharing across groups",
    )
