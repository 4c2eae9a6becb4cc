"""The keep fractions of a given plan: a continuous knapsack (equation 29).

Output and cost are linear in the keep fractions where windows hold the last W *kept* tuples, so the streams are filled
up in the order of benefit by cost, and one of them, or one group of equals, is kept in part. The source assigns "as
much as possible" to one after the other; here streams of equal ratio share by default, so that none is starved: the
output is the same. Remedies: a least share for each stream, and weights, which only change the order. n·log n.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.statements.join_sizes import Number

SAME = 1e-12  # ratios that differ by less are equal
ROOM = 1e-9


class MinimumRatesInfeasible(InvalidInput):
    """The least shares that were asked for need more time than there is."""

    def __init__(self, needed: Number, time: Number) -> None:
        self.needed = needed
        super().__init__(
            f"minimum keep fractions need {float(needed):.4g}, available {float(time):.4g}",
            "lower the minimum keep fractions, or raise the budget",
        )


def knapsack(
    cost: Mapping[str, Number],
    benefit: Mapping[str, Number],
    time: Number,
    least: Mapping[str, Number] | None = None,
    weights: Mapping[str, Number] | None = None,
    *,
    in_order: bool = False,
) -> dict[str, Number]:
    """Return the keep fraction of each stream; `in_order` fills equal ratios one by one, by name.

    >>> knapsack({"A": 60, "B": 120, "C": 70}, {"A": 100, "B": 200, "C": 700}, 160)
    {'A': 0.5, 'B': 0.5, 'C': 1}
    """
    if not any(benefit.values()) and not least:
        total: Number = sum(cost.values())
        return dict.fromkeys(cost, 1 if total <= time else time / total)
    keep = _begun(cost, least or {})
    left = time - sum(cost[name] * keep[name] for name in cost)
    if left < -ROOM * time:
        raise MinimumRatesInfeasible(time - left, time)
    for group in _groups(cost, benefit, weights or {}, in_order):
        left -= _fill(keep, group, cost, left)
    return {name: _whole(keep[name]) for name in keep}


def _begun(cost: Mapping[str, Number], least: Mapping[str, Number]) -> dict[str, Number]:
    """Return the least fractions; streams that cost nothing are kept whole."""
    return {name: least.get(name, 0) if cost[name] else 1 for name in cost}


def _fill(keep: dict[str, Number], group: Sequence[str], cost: Mapping[str, Number], left: Number) -> Number:
    """Keep of a group as much as there is time for, the same share of each; what that costs."""
    need: Number = sum(cost[name] * (1 - keep[name]) for name in group)
    if left <= 0 or not need:
        return 0
    part: Number = 1 if need <= left else left / need
    for name in group:
        keep[name] = keep[name] + (1 - keep[name]) * part
    return need * part


def _whole(keep: Number) -> Number:
    return 1 if keep >= 1 else keep


def _groups(
    cost: Mapping[str, Number], benefit: Mapping[str, Number], weights: Mapping[str, Number], in_order: bool
) -> Sequence[Sequence[str]]:
    """Return the streams by benefit per cost, those of the same ratio together."""
    ratios = {name: weights.get(name, 1) * benefit[name] / cost[name] for name in cost if cost[name]}
    ordered = sorted(ratios, key=lambda name: (-ratios[name], name))
    if in_order:
        return [[name] for name in _regrouped(ordered, ratios)]
    return _tied(ordered, ratios)


def _tied(ordered: Sequence[str], ratios: Mapping[str, Number]) -> list[list[str]]:
    groups: list[list[str]] = []
    for name in ordered:
        if groups and ratios[groups[-1][0]] - ratios[name] <= SAME * ratios[name]:
            groups[-1].append(name)
        else:
            groups.append([name])
    return groups


def _regrouped(ordered: Sequence[str], ratios: Mapping[str, Number]) -> list[str]:
    """Return the streams by ratio, and by name among those whose ratios only rounding tells apart."""
    return [name for group in _tied(ordered, ratios) for name in sorted(group)]
