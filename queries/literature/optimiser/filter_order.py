"""The cheapest order of selections on one stream: by rank, price / (1 - factor), the smallest first.

Ayad and Naughton 2004, section 4 and Figure 4; the rule is the classic one. A selection that keeps everything comes
last. n·log n. With joins between, the search of plans decides instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from tidewheel.queries.literature.optimiser.window_query import Selection
from tidewheel.queries.statements.join_sizes import Number


def rank(selection: Selection) -> Number:
    """Return what a selection costs for each tuple that it takes away.

    >>> rank(Selection("s", "A", 0.5, 1))
    2.0
    """
    return selection.price / (1 - selection.factor) if selection.factor != 1 else math.inf


def by_rank(selections: Iterable[Selection]) -> list[Selection]:
    """Return the selections in the order that costs least; of equals, by name."""
    return sorted(selections, key=lambda one: (rank(one), one.name))


def filter_costs(rate: Number, order: Sequence[Selection]) -> list[Number]:
    """Return what each selection of an order costs a unit of time (equation 21).

    >>> filter_costs(1000, [Selection("s1", "A", 0.25, 0.0005), Selection("s2", "A", 0.5, 0.001)])
    [0.5, 0.25]
    """
    costs: list[Number] = []
    for one in order:
        costs.append(rate * one.price)
        rate = rate * one.factor
    return costs
