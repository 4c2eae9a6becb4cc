"""The best drops for one plan, in either model of what a drop does to a window.

`arrivals`: a window reaches back over the last W *arrivals*, so a dropped tuple leaves a gap and every result that is
left belongs to the exact answer. `survivors`, the source's own: the last W that were *kept*, so the window reaches
back further. The source calls its boxes selections, whose windows shrink (equation 2), and then leaves windows as they
are in equations 25 to 29; simulated, 71 % of what that keeps in Example 1 is in no exact answer. Hence `arrivals`
unless the other is asked for; with windows of time it is the only one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.optimiser.drops.knapsack import knapsack
from tidewheel.queries.literature.optimiser.drops.path_costs import path_costs
from tidewheel.queries.literature.optimiser.drops.price_method import price_method, priced
from tidewheel.queries.literature.optimiser.plan_costs import Known, annotated
from tidewheel.queries.literature.optimiser.plan_tree import Tree
from tidewheel.queries.literature.optimiser.window_query import WindowQuery, WindowStream
from tidewheel.queries.statements.join_sizes import Number

ARRIVALS, SURVIVORS = "arrivals", "survivors"


@dataclass(frozen=True)
class Bounds:
    """The demands on drops: the model of windows, least keep fractions, and weights of streams."""

    window_of: str = ARRIVALS
    least: Mapping[str, Number] | None = None
    weights: Mapping[str, Number] | None = None

    def check(self, query: WindowQuery) -> None:
        if self.window_of not in (ARRIVALS, SURVIVORS):
            raise InvalidInput(f"no windows of {self.window_of}", f"they are of {ARRIVALS} or {SURVIVORS}")
        _check_shares(query, "minimum", self.least or {}, most=1)
        _check_shares(query, "weight", self.weights or {})
        if self.window_of == SURVIVORS:
            timed = [one.name for one in query.streams if one.length is not None]
            if timed:
                raise InvalidInput(
                    f"windows of survivors are defined for windows of rows, and {', '.join(timed)} has one of time",
                    "use windows of arrivals",
                )
        elif self.weights:
            raise InvalidInput(
                "weights with windows of arrivals", "use minimum keep fractions, or windows of survivors"
            )


def _check_shares(query: WindowQuery, told: str, shares: Mapping[str, Number], most: Number = math.inf) -> None:
    for name, share in shares.items():
        if name not in query.by_name:
            raise InvalidInput(f"a {told} for '{name}', which is no stream", "name one of the streams")
        if not 0 <= share <= most:
            raise InvalidInput(f"the {told} of '{name}' is {share}", "give a share from 0 to 1")


OF_ARRIVALS = Bounds()


@dataclass(frozen=True)
class Drops:
    """A plan with its keep fractions, and the results that are left a unit of time."""

    tree: Tree
    keep: dict[str, Number]
    throughput: Number
    exact: Number  # without drops
    weighted: Number

    @property
    def kept_share(self) -> float:
        return float(self.throughput / self.exact) if self.exact else math.prod(map(float, self.keep.values()))

    @property
    def scale(self) -> float:
        """Return the factor that makes counts and sums of the results unbiased: with windows of arrivals alone."""
        return 1 / math.prod(map(float, self.keep.values()))


def drops_of_plan(
    tree: Tree, query: WindowQuery, time: Number, bounds: Bounds = OF_ARRIVALS, known: Known | None = None
) -> Drops:
    """Return the keep fractions with which a plan puts out the most."""
    bounds.check(query)
    if bounds.window_of == SURVIVORS:
        return _of_survivors(tree, query, time, bounds, known)
    least = {name: float(share) for name, share in (bounds.least or {}).items()}
    keep = price_method(priced(tree, query, known), float(time), least)
    exact = annotated(tree, query, known).flow.rate
    throughput = exact * math.prod(keep.values())
    return Drops(tree, dict(sorted(keep.items())), throughput, exact, throughput)


def _of_survivors(tree: Tree, query: WindowQuery, time: Number, bounds: Bounds, known: Known | None) -> Drops:
    costs = path_costs(tree, query, known)
    keep = knapsack(costs.cost, costs.benefit, time, bounds.least, bounds.weights)
    parts = {name: costs.benefit[name] * keep[name] for name in keep}
    weights = bounds.weights or {}
    weighted: Number = sum(weights.get(name, 1) * part for name, part in parts.items())
    return Drops(tree, keep, sum(parts.values()), sum(costs.benefit.values()), weighted)


def scaled(query: WindowQuery, keep: Mapping[str, Number], window_of: str) -> WindowQuery:
    """Return the query as a plan meets it behind drop boxes."""
    return replace(query, streams=tuple(_scaled(one, keep.get(one.name, 1), window_of) for one in query.streams))


def _scaled(stream: WindowStream, keep: Number, window_of: str) -> WindowStream:
    if stream.is_table or not stream.is_bounded:
        return replace(stream, rate=stream.rate * keep)
    window = stream.window * keep if window_of == ARRIVALS else stream.window
    return WindowStream(stream.name, stream.rate * keep, rows=window)
