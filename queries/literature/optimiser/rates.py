"""Rates and windows of operators and of whole joins (equations 1 to 6).

A selection lets a share of the arrivals through, and its window is declared on the *arrivals*: "the last W that
passed" would be another query. A join's result is valid while all of its parts are. So the rate and the window of a
join of n streams follow from the query alone, whatever its plan (Observation 1). The printed derivation of equation 4
lets a left arrival produce f·W_L results; it produces f·W_R. A closed form costs O(n²).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tidewheel.queries.statements.join_sizes import Number


@dataclass(frozen=True)
class Flow:
    """The output of an operator: tuples per unit of time, and how many are valid at a time."""

    rate: Number
    window: Number


def selected(flow: Flow, factor: Number) -> Flow:
    """Return what a selection lets through (equations 1 and 2).

    >>> selected(Flow(1000, 400), 0.25)
    Flow(rate=250.0, window=100.0)
    """
    return Flow(factor * flow.rate, factor * flow.window)


def joined(left: Flow, right: Flow, factor: Number = 1) -> Flow:
    """Return what a window join produces (equations 3 and 4); with the factor 1, the Cartesian product.

    >>> joined(Flow(10, 10), Flow(20, 10), 0.5)
    Flow(rate=150.0, window=50.0)
    """
    rate = factor * (right.window * left.rate + left.window * right.rate)
    return Flow(rate, factor * left.window * right.window)


def joined_all(flows: Sequence[Flow], factor: Number = 1) -> Flow:
    """Return what the join of n streams produces (equations 5 and 6), with the product of all factors.

    >>> joined_all([Flow(10, 10), Flow(20, 10), Flow(70, 10)], 0.1)
    Flow(rate=1000.0, window=100.0)
    """
    rate: Number = sum(
        one.rate * math.prod(other.window for place, other in enumerate(flows) if place != here)
        for here, one in enumerate(flows)
    )
    return Flow(factor * rate, factor * math.prod(one.window for one in flows))


def joined_in_time(rates: Sequence[Number], lengths: Sequence[Number], factor: Number = 1) -> Flow:
    """Return what the join of n streams with windows of time produces: W = λ·T put into equations 5 and 6."""
    return joined_all([Flow(rate, rate * length) for rate, length in zip(rates, lengths, strict=True)], factor)
