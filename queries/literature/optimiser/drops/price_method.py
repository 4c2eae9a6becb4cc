"""The keep fractions of a plan where windows shrink with what is dropped: one price for each join (ours).

Where a window is declared on the *arrivals*, or in time, the rates and windows of a subtree S all scale by the product
z_S of its keep fractions. So the output is λ_o·∏x and the cost Σ ρ_S·z_S, which is convex in log x. At the optimum
each join offers its two inputs one price μ: a leaf keeps x = min(1, μ/ρ), and a join passes on μ + ρ_S·z_S to the one
above. All of it grows with the price at the deepest join, so that is searched until the cost is the time there is;
where both inputs are joins, the price inside the second one is searched to meet the first one's. No stream is ever
shut off.

Exact to rounding; about a millisecond for a plan of five streams. Weights would need the root's price at every leaf,
so they are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import exp, log

from tidewheel.queries.literature.optimiser.drops.knapsack import MinimumRatesInfeasible
from tidewheel.queries.literature.optimiser.plan_costs import Known, Node, annotated
from tidewheel.queries.literature.optimiser.plan_tree import Leaf, Select, Tree
from tidewheel.queries.literature.optimiser.window_query import JoinMethod, WindowQuery
from tidewheel.queries.statements.join_sizes import Number

STEPS = 200
PRECISION = 1e-15
ROOM = 1e-12

Point = tuple[float, float]


@dataclass(frozen=True)
class Priced:
    """A subtree: ρ, the cost of what comes out of it and of selections on it, and its two inputs or its stream."""

    rho: float
    stream: str = ""
    below: tuple[Priced, ...] = ()

    @property
    def depth(self) -> int:
        return 1 + max((one.depth for one in self.below), default=-1)


def priced(tree: Tree, query: WindowQuery, known: Known | None = None) -> Priced:
    """Return the plan with ρ of each subtree: a part of a probe that grows with a window is the joined set's."""

    def read(node: Node, rho: float) -> Priced:
        inside = node
        while isinstance(inside.tree, Select):
            rho += float(inside.cost)
            inside = inside.below[0]
        if isinstance(inside.tree, Leaf):
            return Priced(rho, inside.tree.stream)
        assert inside.price is not None
        (left, right), prices, factor = inside.below, inside.price, inside.factor
        rho += float(prices.right.grows(factor) * left.flow.rate * right.flow.window)
        rho += float(prices.left.grows(factor) * right.flow.rate * left.flow.window)
        first = read(left, float(left.flow.rate * _arrival(prices.left, prices.right)))
        return Priced(rho, below=(first, read(right, float(right.flow.rate * _arrival(prices.right, prices.left)))))

    return read(annotated(tree, query, known), 0.0)


def _arrival(own: JoinMethod, other: JoinMethod) -> Number:
    """Return the constant price of a tuple that comes into a join."""
    return own.insert + own.invalidate + other.probe


def cost_of(plan: Priced, keep: Mapping[str, float]) -> float:
    """Return C(x): what the plan costs with these keep fractions."""
    return _cost(plan, keep)[0]


def _cost(plan: Priced, keep: Mapping[str, float]) -> tuple[float, float]:
    if plan.stream:
        kept = keep[plan.stream]
        return plan.rho * kept, kept
    (first, one), (second, other) = (_cost(below, keep) for below in plan.below)
    return first + second + plan.rho * one * other, one * other


def price_method(plan: Priced, time: float, least: Mapping[str, float] | None = None) -> dict[str, float]:
    """Return the keep fractions that put out the most within the time.

    >>> two = Priced(0, below=(Priced(10, "A"), Priced(40, "B")))
    >>> {name: round(keep, 6) for name, keep in price_method(two, 40).items()}
    {'A': 1.0, 'B': 0.75}
    """
    return _Solver(plan, time, least or {}).keep()


class _Solver:
    def __init__(self, plan: Priced, time: float, least: Mapping[str, float]) -> None:
        self.plan, self.time, self.least = plan, time, least
        self.found: dict[str, float] = {}

    def keep(self) -> dict[str, float]:
        names = list(_streams(self.plan))
        whole = cost_of(self.plan, dict.fromkeys(names, 1.0))
        if whole <= self.time * (1 + ROOM):
            return dict.fromkeys(names, 1.0)
        lowest = {name: float(self.least.get(name, 0.0)) for name in names}
        needed = cost_of(self.plan, lowest)
        if needed > self.time * (1 + ROOM):
            raise MinimumRatesInfeasible(needed, self.time)
        if self.plan.stream:
            return {self.plan.stream: max(lowest[self.plan.stream], self.time / self.plan.rho)}
        self._meet(whole)
        return self.found

    def _meet(self, whole: float) -> None:
        """Find the deepest price at which the plan costs the time there is."""
        limit = 2 * whole  # of the order of the whole cost: with the largest ρ, bushy plans would stop early
        smallest = limit * 1e-18
        if self._cost_at(smallest) > self.time:
            self._cost_at(_root(lambda mu: self._cost_at(mu) - self.time, -limit, smallest))
        else:
            price = _root(lambda price: self._cost_at(exp(price)) - self.time, log(smallest), log(limit))
            self._cost_at(exp(price))

    def _cost_at(self, mu: float) -> float:
        self._up(self.plan, mu)
        return cost_of(self.plan, self.found)

    def _leaf(self, leaf: Priced, mu: float) -> float:
        keep = 1.0 if not leaf.rho else max(float(self.least.get(leaf.stream, 0.0)), min(1.0, mu / leaf.rho))
        self.found[leaf.stream] = keep
        return keep

    def _up(self, plan: Priced, mu: float) -> tuple[float, float]:
        """Return z of a subtree and the price that its parent offers, where its deepest join offers `mu`."""
        one, other = sorted(plan.below, key=lambda below: -below.depth)
        if one.stream:
            kept = self._leaf(one, mu)
        else:
            kept, mu = self._up(one, mu)
        kept *= self._leaf(other, mu) if other.stream else self._side(other, mu)
        return kept, mu + plan.rho * kept

    def _side(self, plan: Priced, target: float) -> float:
        """Return z of a second input that is a join: with the price inside that makes its parent's the target."""
        low, high = 0.0, max(target, 0.0)
        if target < 0 or self._up(plan, 0.0)[1] > target:
            low, high = target - _spine(plan), 0.0
        price = _root(lambda mu: self._up(plan, mu)[1] - target, low, high)
        return self._up(plan, price)[0]


def _root(difference: Callable[[float], float], low: float, high: float) -> float:
    """Return where a growing function crosses 0, by Chandrupatla's method: parabolas where they help, else halves."""
    at_low, at_high = difference(low), difference(high)
    if at_low >= 0 or at_high <= 0:
        return low if at_low >= 0 else high
    one, other, last = (high, at_high), (low, at_low), (low, at_low)
    part = 0.5
    for _ in range(STEPS):
        middle = one[0] + part * (other[0] - one[0])
        found = (middle, difference(middle))
        if (found[1] > 0) == (one[1] > 0):
            one, last = found, one
        else:
            one, other, last = found, one, other
        room = PRECISION * max(abs(one[0]), abs(other[0]))
        if not found[1] or abs(other[0] - one[0]) <= 2 * room:
            break
        part = _next_part(one, other, last, room / abs(other[0] - one[0]))
    return one[0] if abs(one[1]) < abs(other[1]) else other[0]


def _next_part(one: Point, other: Point, last: Point, least: float) -> float:
    """Return how far to go from one end to the other: to the parabola's root if it is safe, else half."""
    if other[1] == last[1] or one[1] == last[1] or other[0] == last[0]:
        return 0.5
    place, height = (one[0] - other[0]) / (last[0] - other[0]), (one[1] - other[1]) / (last[1] - other[1])
    if not height**2 < place or not (1 - height) ** 2 < 1 - place:
        return 0.5
    slope = (last[0] - one[0]) / (other[0] - one[0])
    part = one[1] / (other[1] - one[1]) * last[1] / (other[1] - last[1])
    part += slope * one[1] / (last[1] - one[1]) * other[1] / (last[1] - other[1])
    return min(1 - least, max(least, part))


def _streams(plan: Priced) -> list[str]:
    return [plan.stream] if plan.stream else [name for below in plan.below for name in _streams(below)]


def _spine(plan: Priced) -> float:
    """Return the sum of ρ along the deepest inputs."""
    return 0.0 if plan.stream else plan.rho + _spine(max(plan.below, key=lambda below: below.depth))
