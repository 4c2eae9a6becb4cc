"""The exact joint optimum of plan and drops without trying all plans, for windows of survivors (ours).

Some optimum keeps a set U of streams whole and at most one more, j, in part. For each such choice the largest part t
of j is looked for at which some plan still fits. What the cheapest plan costs is concave in t and does not fall, so t
is found by steps: take the cheapest plan at t, fill it up with j, and look again, until t stops growing. A choice that
cannot beat the best one so far is passed by. n·2^(n-1) choices at most, a few searches each; trying all plans is
faster up to seven streams.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from tidewheel.queries.literature.optimiser.drops.path_costs import path_costs
from tidewheel.queries.literature.optimiser.drops.plan_drops import SURVIVORS, Bounds, Drops, drops_of_plan, scaled
from tidewheel.queries.literature.optimiser.dynamic_programming import best_plan
from tidewheel.queries.literature.optimiser.plan_tree import Tree
from tidewheel.queries.literature.optimiser.window_query import WindowQuery
from tidewheel.queries.statements.join_sizes import Number

ROOM = 1e-12
GROWN = 1e-12


def joint_optimum(query: WindowQuery, time: Number) -> Drops:
    """Return the plan and the keep fractions that put out the most of all."""
    bounds = Bounds(SURVIVORS)
    first = best_plan(query).tree
    benefit = path_costs(first, query).benefit
    best = drops_of_plan(first, query, time, bounds)
    for part, whole in _choices(query, benefit):
        if sum(benefit[name] for name in whole) + benefit[part] > best.throughput * (1 + GROWN):
            tree = _fitting(query, time, whole, part)
            if tree is not None:
                one = drops_of_plan(tree, query, time, bounds)
                best = one if one.throughput > best.throughput * (1 + GROWN) else best
    return best


def _choices(query: WindowQuery, benefit: dict[str, Number]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Give each stream that may be kept in part with each set that is kept whole, the most promising first."""
    found = []
    for part in query.names:
        others = [name for name in query.names if name != part]
        for size in range(len(others) + 1):
            for whole in combinations(others, size):
                found.append((sum(benefit[name] for name in whole), part, whole))
    yield from ((part, whole) for _, part, whole in sorted(found, key=lambda one: -one[0]))


def _fitting(query: WindowQuery, time: Number, whole: tuple[str, ...], part: str) -> Tree | None:
    """Return the plan in which the largest part of a stream fits beside those kept whole."""
    share: Number = 0
    fitting: Tree | None = None
    while True:
        keep: dict[str, Number] = dict.fromkeys(query.names, 0) | dict.fromkeys(whole, 1) | {part: share}
        found = best_plan(scaled(query, keep, SURVIVORS))
        if found.value > time * (1 + ROOM):
            return fitting
        fitting = found.tree
        cost = path_costs(fitting, query).cost
        rest = time - sum(cost[name] for name in whole)
        larger = 1 if rest >= cost[part] else rest / cost[part]
        if share >= 1 or larger <= share * (1 + GROWN):
            return fitting
        share = larger
