"""The three scenarios: every plan fits, some do, or none does; and the plan to run in each.

Ayad and Naughton 2004, sections 3 and 4. The output rate is the same for every plan that keeps up, so the cheapest is
chosen. A plan fits if C(p) <= H: the printed C(p) < 1 contradicts the source's own plan (a), which is called feasible
at 1. From 99 % on it is "at saturation". Nothing is dropped unless that is allowed. The claim that the least use means
the shortest response is an analogy, not a theorem, and is not made here. Costs one search for the best and one for the
worst plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tidewheel.indexing.errors import InvalidInput, Refused
from tidewheel.queries.literature.optimiser.dynamic_programming import BUSHY_MAX, best_plan
from tidewheel.queries.literature.optimiser.enumeration import all_plans
from tidewheel.queries.literature.optimiser.plan_costs import annotated, operators, plan_cost
from tidewheel.queries.literature.optimiser.plan_tree import Tree
from tidewheel.queries.literature.optimiser.rates import Flow
from tidewheel.queries.literature.optimiser.window_query import WindowQuery
from tidewheel.queries.statements.join_sizes import Number

TOLERANCE = 1e-9
SATURATED = 0.99
ENUMERATED_MAX = 7  # streams


class Regime(Enum):
    ABUNDANT = "abundant"  # every plan fits
    TIGHT = "tight"  # some do
    INSUFFICIENT = "insufficient"  # none does


@dataclass(frozen=True)
class Choice:
    """The plan that was chosen, and how it stands to what there is."""

    regime: Regime
    tree: Tree
    cost: Number
    memory: Number
    capacity: Number
    flow: Flow

    @property
    def utilisation(self) -> float:
        return float(self.cost / self.capacity)

    @property
    def is_saturated(self) -> bool:
        return self.cost > SATURATED * self.capacity

    @property
    def fits(self) -> bool:
        return _fits(self.cost, self.capacity)


def capacity(
    processors: Number = 1, headroom: Number = 0, drop_price: Number = 0, query: WindowQuery | None = None
) -> Number:
    """Return H, the time there is in a unit of time; dropping itself may cost something for each arrival.

    >>> capacity(processors=2, headroom=0.25)
    1.5
    """
    if processors <= 0 or not 0 <= headroom < 1:
        raise InvalidInput(
            f"{processors} processors with a headroom of {headroom}", "give more than 0, and a headroom below 1"
        )
    arrivals: Number = sum(one.rate for one in query.streams) if query else 0
    return _positive(processors * (1 - headroom) - drop_price * arrivals)


def optimise(
    query: WindowQuery, time: Number, metric: str = "cpu", memory_max: Number | None = None, *, left_deep: bool = False
) -> Choice:
    """Return the cheapest plan and the regime; by "memory", the plan with the fewest rows that keeps both bounds."""
    _positive(time)
    is_left_deep = left_deep or len(query.streams) > BUSHY_MAX
    cheapest = best_plan(query, left_deep=is_left_deep)
    dearest = best_plan(query, left_deep=is_left_deep, worst=True)
    regime = Regime.INSUFFICIENT
    if _fits(cheapest.value, time):
        regime = Regime.ABUNDANT if _fits(dearest.value, time) else Regime.TIGHT
    tree = cheapest.tree
    if metric == "memory":
        tree = _smallest(query, time, memory_max, is_left_deep)
    elif metric != "cpu":
        raise InvalidInput(f"no plan by '{metric}'", "look for one by cpu or memory")
    return judged(query, tree, time, regime)


def judged(query: WindowQuery, tree: Tree, time: Number, regime: Regime) -> Choice:
    """Return what is predicted of a plan."""
    node = annotated(tree, query)
    found = list(operators(node))
    cost: Number = sum(one.cost for one in found)
    return Choice(regime, tree, cost, sum(one.memory for one in found), time, node.flow)


def _smallest(query: WindowQuery, time: Number, memory_max: Number | None, is_left_deep: bool) -> Tree:
    """Return the plan of the fewest rows that keeps both bounds; where the smallest is too dear, try all."""
    smallest = best_plan(query, "memory", left_deep=is_left_deep)
    if memory_max is not None and not _fits(smallest.value, memory_max):
        raise InvalidInput(
            f"the plan with the fewest rows, {smallest.tree}, holds {float(smallest.value):g}; there is room for"
            f" {float(memory_max):g}",
            "give more memory or shorten windows: dropping is for a lack of time alone",
        )
    if _fits(plan_cost(smallest.tree, query), time):
        return smallest.tree
    if len(query.streams) > ENUMERATED_MAX:
        raise InvalidInput(
            f"the plan with the fewest rows, {smallest.tree}, needs more time than there is",
            f"look for the cheapest plan: all are tried up to {ENUMERATED_MAX} streams",
        )
    fitting = []
    for tree in all_plans(query, left_deep=is_left_deep):
        one = judged(query, tree, time, Regime.TIGHT)
        if one.fits and (memory_max is None or _fits(one.memory, memory_max)):
            fitting.append((one.memory, str(tree), tree))
    if not fitting:
        room = "" if memory_max is None else f" and {float(memory_max):g} rows"
        raise InvalidInput(
            f"no plan fits into {float(time):g} of time{room}: the plans that hold few rows take too long",
            "look for the cheapest plan, give more time, or shorten windows",
        )
    return min(fitting, key=lambda one: one[:2])[2]


class InfeasibleQuery(Refused):
    """Even the cheapest plan needs more time than there is, and nothing may be dropped."""


def refused(choice: Choice, kept: float) -> InfeasibleQuery:
    """Return the refusal to drop without permission, with what dropping would keep."""
    return InfeasibleQuery(
        f"the query needs {float(choice.cost):.3g} of work per unit of time with its best plan {choice.tree};"
        f" {float(choice.capacity):.3g} available",
        f"allow drops (keeps about {kept:.1%} of the results), raise the budget, lengthen the period or shorten"
        " windows",
    )


def _fits(value: Number, bound: Number) -> bool:
    return value <= bound * (1 + TOLERANCE)


def _positive(time: Number) -> Number:
    if not time > 0:
        raise InvalidInput(f"there is {float(time):g} of time per unit of time", "give a budget above 0")
    return time
