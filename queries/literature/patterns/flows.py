"""The flow over each edge of a plan: how many records a tick, how long they live, how many end early (section 3.5).

Values are uniform, and the smaller set of values is contained in the larger, as in the thesis's experiments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import exp

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.statements import plan as plans


@dataclass(frozen=True)
class Statistics:
    """Tuples a tick by stream, distinct values by column, the share of tuples that fulfil a condition."""

    rates: Mapping[str, float]
    values: Mapping[str, int]
    shares: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Flow:
    """`early` is the share of records that end before their exp."""

    rate: float
    life: float
    early: float = 0.0

    @property
    def live(self) -> float:
        return self.rate * self.life


def flow(plan: plans.Operator, known: Statistics) -> Flow:
    """Return the flow out of a plan's root.

    >>> link = plans.window("A", 100, "k")
    >>> found = flow(plans.Join(link, plans.window("B", 100, "k"), (("A.k", "B.k"),)), Statistics({"A": 1, "B": 1},
    ...              {"A.k": 20, "B.k": 20}))
    >>> found.rate, found.live
    (10.0, 500.0)
    """
    inputs = [flow(below, known) for below in plan.inputs]
    if isinstance(plan, plans.Stream):
        return Flow(known.rates[plan.name], 0)
    if isinstance(plan, plans.TimeWindow):
        return Flow(inputs[0].rate, plan.length)
    if isinstance(plan, plans.Select):
        share = 1.0
        for one in plan.conditions:
            share *= known.shares.get(str(one), 1.0)
        return Flow(inputs[0].rate * share, inputs[0].life, inputs[0].early)
    if isinstance(plan, plans.Project):
        return inputs[0]
    if isinstance(plan, plans.Join):
        return _join(inputs[0], inputs[1], _values(plan, known))
    if isinstance(plan, plans.Negation) and not plan.bag:
        return _anti_join(inputs[0], inputs[1], _values(plan, known))
    if isinstance(plan, plans.Distinct):
        return _distinct(inputs[0], known.values[plan.values[0]])
    raise InvalidInput(f"the flow of {plan.title} is not estimated", "there are σ, π, ⋈, NOT EXISTS and δ")


def _values(plan: plans.Join | plans.Negation, known: Statistics) -> int:
    return max(known.values[column] for column in plan.on[0])


def _join(left: Flow, right: Flow, values: int) -> Flow:
    rate = (left.rate * right.live + right.rate * left.live) / values
    early = 1 - (1 - left.early) * (1 - right.early)
    return Flow(rate, left.live * right.live / values / rate, early)


def _anti_join(left: Flow, right: Flow, values: int) -> Flow:
    """Return the flow of the unmatched: those that come so, and those that a right end revives."""
    unmatched = exp(-right.live / values)
    ended_early = right.rate * unmatched * left.live / values
    rate = left.rate * unmatched + ended_early
    return Flow(rate, left.live * unmatched / rate, ended_early / rate)


def _distinct(below: Flow, values: int) -> Flow:
    """Return the flow of δ*: values that were not there, and successors, which have less life left."""
    held = below.live / values
    shown, fresh = values * (1 - exp(-held)), below.rate * exp(-held)
    rest = below.life * max(0.25, 1 - 1 / held)
    rate = fresh + max(0.0, shown - fresh * below.life) / rest
    return Flow(rate, shown / rate)
