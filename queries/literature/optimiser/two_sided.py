"""Two-sided selectivity: another factor for left arrivals than for right ones, as one-to-many joins have (remedy 3).

Ayad and Naughton 2004, section 5, give the rate and no window; the window is ours, by Little's law, where matches are
even over the ages. With T = W/λ and q = λ_L·λ_R·min(T_L, T_R)²/2 pairs in which the longer-lived side came last:

    T_L >= T_R: W_out = f_L·q + f_R·(W_L·W_R - q), otherwise with f_L and f_R swapped.

Good for a single join or the last one: with factors that differ, the rate is no longer the same for all plans, so the
search of plans takes one factor a pair.
"""

from __future__ import annotations

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.optimiser.rates import Flow
from tidewheel.queries.statements.join_sizes import Number


def joined_two_sided(left: Flow, right: Flow, by_left: Number, by_right: Number) -> Flow:
    """Return what a join produces where a left arrival matches a right tuple with the chance `by_left`.

    >>> joined_two_sided(Flow(10, 20), Flow(40, 20), 0.4, 0.1)
    Flow(rate=160.0, window=55.0)
    """
    if not left.rate or not right.rate:
        raise InvalidInput("a two-sided join of a table", "a table has no arrivals: give the join one factor")
    lives = left.window / left.rate, right.window / right.rate
    crossed = left.rate * right.rate * min(lives) ** 2 / 2
    first, second = (by_left, by_right) if lives[0] >= lives[1] else (by_right, by_left)
    window = first * crossed + second * (left.window * right.window - crossed)
    return Flow(sum(benefits(left, right, by_left, by_right)), window)


def benefits(left: Flow, right: Flow, by_left: Number, by_right: Number) -> tuple[Number, Number]:
    """Return how many results a unit of time each side's arrivals make: the coefficients of its keep fraction."""
    return by_left * right.window * left.rate, by_right * left.window * right.rate
