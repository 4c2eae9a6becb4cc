"""Bounds on how far a plan is from the best one, found without knowing the best one.

- No plan costs less than one pass over the records and each query's final operations over its own edges.
- If any two requests save at least β × rate by sharing, the greedy plan saves at least β / 2 of what the best one
  saves: while two are alone, the best merge uses up two and saves that much; no plan saves more than (n - 1) × rate.
- Chung, Guirguis and Kurdia prove a quarter under three conditions: tumbling windows, a rate of at least twice the edge
  rate of every pair, and at least half as many merges as the best plan. The third follows from the others.

Both hold for the published cost (final operations: range / slide per edge) of two levels.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from tidewheel.queries.planning.edge_space import rate_of
from tidewheel.queries.planning.weaveability import pair_edge_rate
from tidewheel.queries.planning.workload import Workload

PAIRS_MAX = 100_000


@dataclass(frozen=True)
class Certificate:
    least_cost: Fraction  # of any plan
    beta: Fraction | None  # the smallest gain of a pair by the rate; None if not looked at or without meaning
    has_quarter: bool  # the conditions of the theorem hold

    def gap(self, cost: Fraction) -> Fraction:
        """A plan of that cost is dearer than the best by at most this share."""
        return cost / self.least_cost - 1 if self.least_cost else Fraction(0)

    @property
    def savings_share(self) -> Fraction:
        """Return the share of the possible savings that Weave Share's plan is certain to have."""
        proved = max(self.beta or Fraction(0), Fraction(0)) / 2
        return max(proved, Fraction(1, 4)) if self.has_quarter else proved


def certificate(workload: Workload) -> Certificate:
    requests, space = workload.requests, workload.space
    rates = [rate_of(space, space.edges(phases)) for phases in workload.phases]
    overlaps = [Fraction(one.window.length, one.window.slide) for one in requests]
    final = sum((rate * overlap for rate, overlap in zip(rates, overlaps, strict=True)), Fraction(0))
    least = workload.rate + final if requests else Fraction(0)
    if len(requests) < 2 or len(requests) * (len(requests) - 1) // 2 > PAIRS_MAX or not workload.rate:
        return Certificate(least, None, False)
    pairs = list(combinations(range(len(requests)), 2))
    together = [pair_edge_rate(workload.phases[one], workload.phases[other]) for one, other in pairs]
    worst = max(
        (edges - rates[one]) * overlaps[one] + (edges - rates[other]) * overlaps[other]
        for (one, other), edges in zip(pairs, together, strict=True)
    )
    tumbling = all(overlap == 1 for overlap in overlaps)
    return Certificate(least, 1 - worst / workload.rate, tumbling and workload.rate >= 2 * max(together))
