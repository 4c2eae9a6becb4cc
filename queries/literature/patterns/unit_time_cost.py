"""Predicted steps a tick of a plan by an approach: what a planner of update patterns compares (section 3.5).

Each record costs a call at each operator above it, and its way into and out of each structure: FIFO 2r; a list r +
N/ε; calendar days unsorted r + N φ/ε (φ = 1/n of fixed lives, (2n - 1)/n² of joins), sorted r (N/2n + 1), heaps 2 r
log2(N/n); a hash table r + d. With NT every edge has d = r negatives; with UPA's early way p r above a strict
operator. Plans are priced, and so is the choice between the two ways above a strict operator.

No listing is printed: the thesis pulls negation up by rule. The formulas are ours, tested against counted steps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import log2

from tidewheel.queries.literature.patterns.approach import Approach, Way
from tidewheel.queries.literature.patterns.flows import Flow, Statistics, flow
from tidewheel.queries.statements.labels import Labelled, Pattern, labelled
from tidewheel.queries.statements.plan import (
    Distinct,
    Join,
    Operator,
    Project,
    Select,
    Stream,
    TimeWindow,
)


def unit_time_cost(plan: Operator, approach: Approach, known: Statistics) -> float:
    """Return the predicted steps a tick."""
    root = labelled(plan)
    every = max(1.0, approach.lazy * _longest(plan))
    view = 0.0 if isinstance(plan, Distinct) else _stored(root, approach, flow(plan, known), every)
    return _calls(flow(plan, known), root, approach) + view + _inside(root, approach, known)


def _longest(plan: Operator) -> int:
    return plan.length if isinstance(plan, TimeWindow) else max(map(_longest, plan.inputs), default=1)


def _tells_all(one: Labelled, approach: Approach) -> bool:
    """Return if an edge has a negative tuple for each end."""
    return approach.way is Way.NT or (one.label.pattern is Pattern.STR and not approach.early)


def _negatives(one: Labelled, approach: Approach, what: Flow) -> float:
    return what.rate * (1.0 if _tells_all(one, approach) else what.early)


def _calls(what: Flow, one: Labelled, approach: Approach) -> float:
    return what.rate + _negatives(one, approach, what)


def _stored(one: Labelled, approach: Approach, what: Flow, every: float = 1.0) -> float:
    """Return the steps of what an edge brings into a structure, and out of it."""
    rate, live, days = what.rate, what.live, approach.days
    if _tells_all(one, approach):
        chain = live / approach.chains / 3 if approach.chains and one.label.pattern > Pattern.WKS else 1
        return rate * (1 + max(1.0, chain))
    if one.label.pattern is Pattern.WKS:
        return 2 * rate
    if approach.way is Way.DIRECT:
        return rate + (live + rate * every / 2) / every
    early = what.early * rate
    nearest = 1 / days if early else (2 * days - 1) / days**2
    ways = {
        "unsorted": rate + live * nearest / every,
        "sorted": rate * (live / (2 * days) + 2),
        "heap": 2 * rate * max(1.0, log2(max(2.0, live / days))),
    }
    return ways[approach.order] + early


def _inside(one: Labelled, approach: Approach, known: Statistics) -> float:
    """Return the steps of all operators below an edge."""
    total = sum(_inside(below, approach, known) for below in one.inputs)
    operator = one.operator
    flows = [(below, flow(below.operator, known)) for below in one.inputs]
    if isinstance(operator, TimeWindow):
        return 3 * flows[0][1].rate if approach.way is Way.NT else 0.0
    if isinstance(operator, Stream):
        return 0.0
    total += sum(_calls(what, below, approach) for below, what in flows)
    if isinstance(operator, Select | Project):
        return total
    out = flow(operator, known)
    if isinstance(operator, Distinct):
        return total + _distinct(one, operator, approach, known, flows[0][1].rate)
    hashed = replace(approach, chains=None)
    total += sum(_stored(below, hashed, what) for below, what in flows)
    return total + (_calls(out, one, approach) if isinstance(operator, Join) else out.rate + flows[0][1].rate)


def _distinct(one: Labelled, operator: Distinct, approach: Approach, known: Statistics, rate: float) -> float:
    """Return the steps of δ: δ* looks once at each record, the naive way searches its input for a successor."""
    out = flow(operator, known)
    if approach.way is Way.UPA:
        return _stored(one, approach, out) + rate
    searched = known.values[operator.values[0]] * out.rate
    return searched + 2 * rate + (out.live if approach.way is Way.DIRECT else 0)


def better_way(plan: Operator, approach: Approach, known: Statistics) -> Approach:
    """Return the cheaper way above strict operators: negatives for early ends, or for all."""
    ways = [replace(approach, early=early) for early in (True, False)]
    return min(ways, key=lambda one: unit_time_cost(plan, one, known))


def cheapest(plans: Iterable[Operator], approach: Approach, known: Statistics) -> Operator:
    """Return the plan that costs least; among equals the one with fewer strict edges."""
    return min(plans, key=lambda plan: (unit_time_cost(plan, approach, known), _strict_edges(labelled(plan))))


def _strict_edges(one: Labelled) -> int:
    return (one.label.pattern is Pattern.STR) + sum(map(_strict_edges, one.inputs))
