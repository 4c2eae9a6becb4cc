"""Plan and drops together: the cheapest exact plan need not be the best one to approximate.

The source leaves the search open (its Figure 7); all of it here is ours. C(p) weighs each stream's path by its
arrivals, but once a stream is dropped its path costs nothing: a plan that is dear for one stream alone can be
excellent without it. Up to seven streams all plans are tried. Above, two steps take turns from several starts: the
best drops of a plan, and the best plan for these drops. Output never falls in a round, as planning anew can only free
time. The starts are the cheapest plan and, for each stream, the plan as if the others (or it alone) were dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tidewheel.queries.literature.optimiser.drops.certificate import of_prices
from tidewheel.queries.literature.optimiser.drops.knapsack import MinimumRatesInfeasible
from tidewheel.queries.literature.optimiser.drops.plan_drops import (
    ARRIVALS,
    OF_ARRIVALS,
    Bounds,
    Drops,
    drops_of_plan,
    scaled,
)
from tidewheel.queries.literature.optimiser.drops.price_method import priced
from tidewheel.queries.literature.optimiser.dynamic_programming import BUSHY_MAX, SAME, best_plan
from tidewheel.queries.literature.optimiser.enumeration import all_plans
from tidewheel.queries.literature.optimiser.plan_costs import Known, plan_cost
from tidewheel.queries.literature.optimiser.plan_tree import Tree
from tidewheel.queries.literature.optimiser.window_query import WindowQuery
from tidewheel.queries.statements.join_sizes import Number

ENUMERATED_MAX = 7
SELECTIONS_MAX = 2  # each has many places: with more of them plans are not enumerated
ROUNDS_MAX = 100
GROWN = 1e-9
AWAY = 0.01  # what is left of a stream that is as good as dropped, where windows shrink with it


def plan_and_drops(query: WindowQuery, time: Number, bounds: Bounds = OF_ARRIVALS) -> Drops:
    """Return the plan that puts out the most within the time, with its keep fractions."""
    bounds.check(query)
    if len(query.streams) <= ENUMERATED_MAX and len(query.selections) <= SELECTIONS_MAX:
        return best_of_all(query, time, bounds)
    return alternated(query, time, bounds)


def best_of_all(query: WindowQuery, time: Number, bounds: Bounds = OF_ARRIVALS) -> Drops:
    """Try every plan; of those that put out the same, the cheaper one, then the one with the smaller text.

    The first to be tried is the one that alternating finds. A plan whose bound is below the best so far is passed by.
    """
    plans, known = all_plans(query), Known()
    best = _first(query, plans, time, bounds, known)
    for tree in plans:
        if bounds.window_of == ARRIVALS and _bound(tree, query, time, best, known) < best.weighted * (1 - GROWN):
            continue
        one = _drops(tree, query, time, bounds, known)
        if one is not None and _is_better(one, best, query):
            best = one
    return best


def _first(query: WindowQuery, plans: Sequence[Tree], time: Number, bounds: Bounds, known: Known) -> Drops:
    """Return drops to begin with: those of alternating, or of any plan that can keep the least shares."""
    try:
        return alternated(query, time, bounds)
    except MinimumRatesInfeasible as infeasible:
        found = next(filter(None, (_drops(tree, query, time, bounds, known) for tree in plans)), None)
        if found is None:
            raise infeasible
        return found


def _drops(tree: Tree, query: WindowQuery, time: Number, bounds: Bounds, known: Known | None = None) -> Drops | None:
    """Return a plan's best drops; None where it cannot keep the least shares, as another plan may."""
    try:
        return drops_of_plan(tree, query, time, bounds, known)
    except MinimumRatesInfeasible:
        return None


def _bound(tree: Tree, query: WindowQuery, time: Number, best: Drops, known: Known) -> float:
    """Return what a plan puts out at most, from the tangent at the best keep fractions so far."""
    keep = {name: float(share) for name, share in best.keep.items()}
    return of_prices(priced(tree, query, known), float(time), keep) * float(best.exact)


def _is_better(one: Drops, best: Drops, query: WindowQuery) -> bool:
    difference = one.weighted - best.weighted
    if abs(float(difference)) > SAME * best.weighted:
        return difference > 0
    ours, theirs = plan_cost(one.tree, query), plan_cost(best.tree, query)
    if abs(float(ours - theirs)) > SAME * theirs:
        return ours < theirs
    return str(one.tree) < str(best.tree)


def alternated(
    query: WindowQuery,
    time: Number,
    bounds: Bounds = OF_ARRIVALS,
    *,
    from_cheapest_alone: bool = False,
) -> Drops:
    """Let drops and plan take turns, from several starts, and return the best that comes of it."""
    best: Drops | None = None
    starts = list(_starts(query, bounds, from_cheapest_alone))
    for start in starts:
        one = _rounds(query, time, bounds, start)
        if one is not None and (best is None or _is_better(one, best, query)):
            best = one
    return best or drops_of_plan(starts[-1], query, time, bounds)


def _plan_for(query: WindowQuery, keep: Mapping[str, Number], window_of: str) -> Tree:
    return best_plan(scaled(query, keep, window_of), left_deep=len(query.streams) > BUSHY_MAX).tree


def _starts(query: WindowQuery, bounds: Bounds, from_cheapest_alone: bool) -> Iterator[Tree]:
    """Give the plans to begin with; the last is the cheapest one with no more than the least shares."""
    window_of = bounds.window_of
    yield _plan_for(query, {}, window_of)
    if from_cheapest_alone:
        return
    away = AWAY if window_of == ARRIVALS else 0
    for name in query.names:
        yield _plan_for(query, {other: 1 if other == name else away for other in query.names}, window_of)
        if window_of == ARRIVALS:
            yield _plan_for(query, {name: away}, window_of)
    if bounds.least:
        yield _plan_for(query, {name: bounds.least.get(name) or away for name in query.names}, window_of)


def _rounds(query: WindowQuery, time: Number, bounds: Bounds, tree: Tree) -> Drops | None:
    best = _drops(tree, query, time, bounds)
    for _ in range(ROUNDS_MAX if best else 0):
        assert best is not None
        after = _drops(_plan_for(query, best.keep, bounds.window_of), query, time, bounds)
        if after is None or not after.weighted > best.weighted * (1 + GROWN):
            break
        best = after
    return best
