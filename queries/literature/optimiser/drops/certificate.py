"""Bounds on the output that hold without knowing the best plan, each checkable by itself (ours).

- No plan puts out more than `of_any_plan`. Every plan takes in all kept arrivals at the price of a tuple; one that did
  no more than that would be the cheapest.
- One plan with windows of survivors: any price p of time bounds its output by p·H + Σ max(0, b - p·a). At the ratio
  where the knapsack stops, the bound is the output (`of_knapsack`).
- One plan with windows of arrivals: its cost is convex in log x, so the tangent at *any* keep fractions bounds the
  output. At the best ones the bound is the output (`of_prices`).

Linear in the streams, but for the first, which is a knapsack or a price search.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import reduce

from tidewheel.queries.literature.optimiser.drops.knapsack import knapsack
from tidewheel.queries.literature.optimiser.drops.path_costs import PathCosts, path_costs
from tidewheel.queries.literature.optimiser.drops.plan_drops import SURVIVORS
from tidewheel.queries.literature.optimiser.drops.price_method import Priced, cost_of, price_method
from tidewheel.queries.literature.optimiser.plan_tree import Leaf, Select, Tree, join
from tidewheel.queries.literature.optimiser.window_query import WindowQuery
from tidewheel.queries.statements.join_sizes import Number


def of_any_plan(query: WindowQuery, time: Number, window_of: str) -> Number:
    """Return a bound on what any plan with any drops puts out."""
    least = {name: _least_price(query, name) for name in query.names}
    benefit = path_costs(_some_plan(query), query).benefit
    exact: Number = sum(benefit.values())
    if window_of == SURVIVORS:
        keep = knapsack(least, benefit, time)
        return min(exact, sum(benefit[name] * keep[name] for name in keep))
    leaves = [Priced(float(price), name) for name, price in least.items()]
    chain = reduce(lambda below, leaf: Priced(0.0, below=(below, leaf)), leaves)
    return exact * math.prod(price_method(chain, float(time)).values())


def _least_price(query: WindowQuery, name: str) -> Number:
    """Return the least that a stream's arrivals cost at a join: selections may come first."""
    if len(query.streams) == 1:
        return 0
    kept = math.prod(one.factor for one in query.selections if one.stream == name)
    least = min(one.probe for one in query.methods) + min(one.insert + one.invalidate for one in query.methods)
    return least * query.by_name[name].rate * kept


def _some_plan(query: WindowQuery) -> Tree:
    leaves: list[Tree] = [Leaf(name) for name in query.names]
    plan = reduce(join, leaves)
    for selection in query.selections:
        plan = Select(selection.name, plan)
    return plan


def of_knapsack(costs: PathCosts, time: Number, keep: Mapping[str, Number]) -> Number:
    """Return the bound on a plan's output at the price that the keep fractions show.

    >>> of_knapsack(PathCosts({"A": 100, "C": 700}, {"A": 60, "C": 70}), 100, {"A": 0.5, "C": 1})
    750.0
    """
    partial = [name for name in keep if keep[name] < 1 and costs.cost[name]]
    price: Number = max((costs.benefit[name] / costs.cost[name] for name in partial), default=0)
    over = (max(0, costs.benefit[name] - price * costs.cost[name]) for name in keep)
    return price * time + sum(over)


def of_prices(plan: Priced, time: float, keep: Mapping[str, float]) -> float:
    """Return the bound on the kept share of a plan's output, from the tangent at the keep fractions."""
    if cost_of(plan, dict.fromkeys(keep, 1.0)) <= time:
        return 1.0
    steepness = _steepness(plan, keep)
    multiplier = 1 / max(steepness.values())
    slope = sum(steepness[name] * math.log(keep[name]) for name in keep)
    return min(1.0, math.exp(multiplier * (time - cost_of(plan, keep) + slope)))


def _steepness(plan: Priced, keep: Mapping[str, float]) -> dict[str, float]:
    """Return, for each stream, how the cost grows with the logarithm of its keep fraction."""

    def read(one: Priced) -> tuple[float, dict[str, float]]:
        if one.stream:
            return keep[one.stream], {one.stream: one.rho * keep[one.stream]}
        (left, lefts), (right, rights) = (read(below) for below in one.below)
        kept = left * right
        return kept, {name: steep + one.rho * kept for name, steep in (lefts | rights).items()}

    return read(plan)[1]
