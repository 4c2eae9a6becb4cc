"""Advice for a described query: its plan and regime, the drops that it needs, what other budgets would keep.

Plans are compared up to four streams, where there are at most 15 without selections.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidewheel.queries.literature.optimiser.drops.certificate import of_any_plan
from tidewheel.queries.literature.optimiser.drops.knapsack import MinimumRatesInfeasible
from tidewheel.queries.literature.optimiser.drops.plan_choice import plan_and_drops
from tidewheel.queries.literature.optimiser.drops.plan_drops import Bounds, Drops, drops_of_plan, scaled
from tidewheel.queries.literature.optimiser.dynamic_programming import BUSHY_MAX, best_plan
from tidewheel.queries.literature.optimiser.enumeration import all_plans
from tidewheel.queries.literature.optimiser.plan_costs import Node, annotated, operators, plan_cost, plan_memory
from tidewheel.queries.literature.optimiser.plan_tree import Tree
from tidewheel.queries.literature.optimiser.regimes import Choice, Regime
from tidewheel.queries.literature.optimiser.window_query import WindowQuery
from tidewheel.queries.statements.join_sizes import Number

PLANS_MAX = 60
STREAMS_MAX = 4
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


@dataclass(frozen=True)
class Advice:
    """A plan, with its drops where it does not fit; `most` bounds what any plan with any drops puts out."""

    query: WindowQuery
    choice: Choice
    drops: Drops | None
    most: float
    window_of: str

    @property
    def tree(self) -> Tree:
        return self.drops.tree if self.drops else self.choice.tree

    def without_drops(self) -> Advice:
        return replace(self, drops=None)

    @property
    def root(self) -> Node:
        return annotated(self.tree, self.query)

    @property
    def behind_drops(self) -> Node:
        """The same plan as it runs behind its drop boxes."""
        return annotated(self.tree, scaled(self.query, self.drops.keep if self.drops else {}, self.window_of))

    @property
    def predicted_rate(self) -> float:
        return float(self.drops.throughput if self.drops else self.choice.flow.rate)

    @property
    def cost(self) -> float:
        """Return the plan's cost without drops."""
        return float(sum(one.cost for one in operators(self.root)))


@dataclass(frozen=True)
class PlanLine:
    """One plan beside the others, at the same budget."""

    tree: Tree
    cost: float
    memory: float
    kept_share: float | None  # None where it cannot keep the least shares


@dataclass(frozen=True)
class BudgetLine:
    """The best plan at one budget, and what the cheapest plan would keep there."""

    budget: float
    tree: Tree
    kept_share: float
    cheapest_kept_share: float | None


def advice(query: WindowQuery, choice: Choice, bounds: Bounds) -> Advice:
    """Return the plan to run, with drops where none fits."""
    bounds.check(query)
    time = choice.capacity
    drops = plan_and_drops(query, time, bounds) if choice.regime is Regime.INSUFFICIENT else None
    return Advice(query, choice, drops, float(of_any_plan(query, time, bounds.window_of)), bounds.window_of)


def plans_beside(query: WindowQuery, time: Number, bounds: Bounds) -> list[PlanLine]:
    """Return all plans, those that keep most first; none where they are too many to show."""
    if len(query.streams) > STREAMS_MAX or len(plans := all_plans(query)) > PLANS_MAX:
        return []
    lines = [
        PlanLine(
            tree,
            float(plan_cost(tree, query)),
            float(plan_memory(tree, query)),
            _kept_share(tree, query, time, bounds),
        )
        for tree in plans
    ]
    return sorted(lines, key=lambda one: (-round(one.kept_share or 0, 12), one.cost, str(one.tree)))


def _kept_share(tree: Tree, query: WindowQuery, time: Number, bounds: Bounds) -> float | None:
    try:
        return drops_of_plan(tree, query, time, bounds).kept_share
    except MinimumRatesInfeasible:
        return None


def budgets_beside(query: WindowQuery, bounds: Bounds) -> list[BudgetLine]:
    """Return what shares of the cheapest plan's cost would keep, where they suffice for the least shares."""
    cheapest = best_plan(query, left_deep=len(query.streams) > BUSHY_MAX)
    lines = []
    for share in SHARES:
        time = float(cheapest.value) * share
        if time <= 0:
            continue
        try:
            best = plan_and_drops(query, time, bounds)
        except MinimumRatesInfeasible:
            continue
        lines.append(BudgetLine(time, best.tree, best.kept_share, _kept_share(cheapest.tree, query, time, bounds)))
    return lines
