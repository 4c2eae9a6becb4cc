"""Random queries of the experiment on which plan to approximate (ours): chains, stars and trees in turn."""

from __future__ import annotations

import random
from fractions import Fraction

from tidewheel.queries.literature.optimiser.window_query import WindowQuery, WindowStream, window_query

RATES = (1, 2, 5, 10, 20, 50, 100)
WINDOWS = (5, 10, 20, 50, 100)
VALUES = (2, 5, 10, 20, 50, 100, 200)
SHAPES = ("chain", "star", "tree")


def generated_query(streams: int, number: int, *, exact: bool = False) -> WindowQuery:
    """Return the query of that number; `exact` makes its numbers fractions.

    >>> [one.name for one in generated_query(3, 0).streams]
    ['A', 'B', 'C']
    """
    chance = random.Random(1000 * streams + number)
    names = [chr(ord("A") + place) for place in range(streams)]
    shape = SHAPES[number % len(SHAPES)]
    made = tuple(
        WindowStream(name, _number(chance.choice(RATES), exact), rows=_number(chance.choice(WINDOWS), exact))
        for name in names
    )
    joins = []
    for place in range(1, streams):
        before = {"chain": place - 1, "star": 0, "tree": chance.randrange(place)}[shape]
        factor = Fraction(1, chance.choice(VALUES))
        joins.append((names[before], names[place], factor if exact else float(factor)))
    return window_query(made, tuple(joins))


def _number(value: int, exact: bool) -> float | Fraction:
    return Fraction(value) if exact else float(value)
