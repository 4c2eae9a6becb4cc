"""Contiguous sharing: the best plan whose trees are runs of the requests in their order.

Ordered by when queries end, the end of the first one costs nothing: the best plan of the rest is read off.

Chung, Guirguis, Kurdia, *Competitive Cost-Savings in Data Stream Management Systems*.
Follows the printed listing; of equal plans the one whose first tree is shortest.
"""

from __future__ import annotations

from tidewheel.queries.planning.cost_model import Cost
from tidewheel.queries.planning.loom import Loom, Tree
from tidewheel.queries.planning.plan import Draw, Planner


def contiguous(loom: Loom, _: Draw) -> list[Tree]:
    ends = contiguous_table(loom)[1]
    trees, at = [], 0
    while at < len(ends):
        trees.append(loom.tree(range(at, ends[at])))
        at = ends[at]
    return trees


def contiguous_table(loom: Loom) -> tuple[list[Cost], list[int]]:
    """Return for each first request the cost of the best plan from there on, and the end of its first run."""
    size = len(loom.singles)
    costs: list[Cost] = [0] * (size + 1)
    ends = [0] * size
    for first in reversed(range(size)):
        run = loom.singles[first]
        costs[first], ends[first] = run.cost + costs[first + 1], first + 1
        for last in range(first + 1, size):
            run = loom.weave(run, loom.singles[last])
            if run.cost + costs[last + 1] < costs[first]:
                costs[first], ends[first] = run.cost + costs[last + 1], last + 1
    return costs[:size], ends


CONTIGUOUS = Planner("Contiguous", "the best trees that are runs of the queries in order", contiguous, requests_max=300)
