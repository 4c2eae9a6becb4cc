"""The price of a window join per unit of time (equations 8 and 9), and of an operator that shares the processor.

Each window is paid for by itself: the other side's arrivals probe it, its own are put in and taken out. So each side
may have the method that is cheaper for it. The printed equation 8 charges a left tuple's insertion at the right
window's price; Kang, Naughton and Viglas, whose model it is, split by window, as here. Both agree where both sides
have one method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.optimiser.rates import Flow
from tidewheel.queries.literature.optimiser.window_query import JoinMethod
from tidewheel.queries.statements.join_sizes import Number


@dataclass(frozen=True)
class JoinPrice:
    """The cheapest method of each side, and what both cost together."""

    left: JoinMethod
    right: JoinMethod
    cost: Number


def side_price(method: JoinMethod, own: Flow, other: Flow, factor: Number = 1) -> Number:
    """Return the cost of keeping and probing one window.

    >>> side_price(JoinMethod("hash", 0.1, 0.2, 0.2), Flow(10, 5), Flow(40, 5))
    8.0
    """
    probe = method.probe + method.grows(factor) * own.window
    return other.rate * probe + own.rate * (method.insert + method.invalidate)


def join_price(left: Flow, right: Flow, methods: Sequence[JoinMethod], factor: Number = 1) -> JoinPrice:
    """Return the cheapest method for each side; of equals, the first."""
    lefts = [side_price(method, left, right, factor) for method in methods]
    rights = [side_price(method, right, left, factor) for method in methods]
    one, other = lefts.index(min(lefts)), rights.index(min(rights))
    return JoinPrice(methods[one], methods[other], lefts[one] + rights[other])


def dilated(cost: Number, share: Number) -> Number:
    """Return how long an operator takes that is given a share of the processor's time.

    The test of a whole plan accounts for sharing already: do not apply both.

    >>> dilated(1, 0.1)
    10.0
    """
    if not 0 < share <= 1:
        raise InvalidInput(f"an operator with {share} of the processor's time", "give a share above 0, at most 1")
    return cost / share
