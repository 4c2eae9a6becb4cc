"""The liveness of tuples: one predicate for all algorithms, in both conventions of the source.

Golab, Waterloo 2006: chapter 5 is closed (alive at t if t <= exp), chapters 2 to 4 are half-open (t < exp). Half-open
is the default: of the two it alone does not depend on the tick of the clock. On whole numbers, closed with exp equals
half-open with exp + 1.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

Alive = Callable[[float, float], bool]  # (a moment, an end)


def alive(closed: bool = False) -> Alive:
    """Return the predicate of a convention.

    >>> alive()(5, 5), alive(closed=True)(5, 5)
    (False, True)
    """
    return operator.le if closed else operator.lt


def last_end(moment: float, closed: bool = False) -> float:
    """Return the greatest end of what is dead at the moment: structures of state expire up to and with it."""
    if not closed:
        return moment
    return moment - 1 if isinstance(moment, int) else math.nextafter(moment, -math.inf)
