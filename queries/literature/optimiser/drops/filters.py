"""Drop boxes among selections: one at the source of the cheapest order is the best (Observation 2).

With y_i the product of the first i keep fractions, H >= Σ c(i)·y_i >= y_last·Σ c(i), and the output is y_last·λ_o. So
no placement gives more than H / C(p), and a box at the source gives just that: the less the order costs, the more is
kept. The printed "drops 100 - x percent" means the share 1 - x. Linear.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tidewheel.queries.literature.optimiser.filter_order import filter_costs
from tidewheel.queries.literature.optimiser.window_query import Selection
from tidewheel.queries.statements.join_sizes import Number


@dataclass(frozen=True)
class FilterDrops:
    """The keep fraction of the box at the source, and what is put out with it."""

    keep: Number
    output: Number
    cost: Number  # without drops


def drops_of_filters(rate: Number, order: Sequence[Selection], time: Number) -> FilterDrops:
    """Return the one box that an order of selections needs (equations 23 and 24).

    >>> kept = drops_of_filters(2000, [Selection("s1", "A", 0.25, 0.0005), Selection("s2", "A", 0.5, 0.001)], 1.2).keep
    >>> round(kept, 9)
    0.8
    """
    cost: Number = sum(filter_costs(rate, order))
    keep: Number = 1 if cost <= time else time / cost
    return FilterDrops(keep, keep * rate * math.prod(one.factor for one in order), cost)


def boxed_filters(rate: Number, order: Sequence[Selection], boxes: Sequence[Number]) -> tuple[Number, Number]:
    """Return output and cost with a box before each selection and one after the last (equations 18 and 19).

    >>> boxed_filters(1000, [Selection("s", "A", 0.5, 0.001)], [0.5, 1])
    (250.0, 0.5)
    """
    cost: Number = 0
    for one, box in zip(order, boxes, strict=False):
        rate = rate * box
        cost, rate = cost + one.price * rate, rate * one.factor
    return rate * boxes[len(order)], cost
