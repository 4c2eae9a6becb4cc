"""Incremental Weave Share: requests come and go, and only trees that changed are woven anew.

New requests and trees that lost members are *dirty*; the best gain between a dirty tree and any other is taken until
there is none. Two trees that are not dirty did not gain before and do not now. A tree that costs more than its members
alone, as may be when the one that bound them left, is shattered first.

Drift: full plans are remembered as points (requests, cost). A plan dearer by more than a tolerance than the line
through the last two says is due for a full one. That errors stay below the tolerance is what the literature observed,
not a bound: costs grow slower than the line, so it may keep silent. The true gap shows at each full plan.
Departs from the printed listing: a tree that costs more than its members is shattered; one point has a line from 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tidewheel.queries.planning.cost_model import Cost
from tidewheel.queries.planning.loom import Loom, Tree, in_order


def rewoven(loom: Loom, before: Iterable[Iterable[str]]) -> list[Tree]:
    """Trees for the loom's requests, given those of an earlier plan by names."""
    positions = {one.name: position for position, one in enumerate(loom.workload.requests)}
    clean: list[Tree] = []
    dirty: list[Tree] = []
    for names in before:
        wanted = list(names)
        there = sorted(positions.pop(name) for name in wanted if name in positions)
        if len(there) == len(wanted):
            clean.append(loom.tree(there))
        elif there:
            dirty += _whole_or_shattered(loom, there)
    dirty += [loom.singles[position] for position in positions.values()]
    return _weave_dirty(loom, clean, dirty)


def _whole_or_shattered(loom: Loom, members: list[int]) -> list[Tree]:
    tree, singles = loom.tree(members), [loom.singles[position] for position in members]
    return singles if tree.cost > sum(single.cost for single in singles) else [tree]


def _weave_dirty(loom: Loom, clean: list[Tree], dirty: list[Tree]) -> list[Tree]:
    clean, dirty = in_order(clean), in_order(dirty)
    gains: dict[tuple[Tree, Tree], Cost] = {}
    while True:
        pairs = [(one, other) for at, one in enumerate(dirty) for other in (*clean, *dirty[at + 1 :])]
        for pair in pairs:
            if pair not in gains:
                gains[pair] = loom.gain(*pair)
        best = max(pairs, key=gains.__getitem__, default=None)
        if best is None or gains[best] <= loom.model.least_gain:
            return in_order([*clean, *dirty])
        clean = [tree for tree in clean if tree not in best]
        dirty = in_order([*(tree for tree in dirty if tree not in best), loom.weave(*best)])


@dataclass(frozen=True)
class PlanPoint:
    """A full plan: for how many requests, at what cost."""

    requests: int
    cost: Fraction


def is_drifted(points: Sequence[PlanPoint], now: PlanPoint, tolerance: Fraction) -> bool:
    """Tell whether a full plan is due. With tolerance 0 it always is."""
    if tolerance == 0:
        return True
    expected = expected_cost(points, now.requests)
    return expected > 0 and (now.cost - expected) / expected > tolerance


def expected_cost(points: Sequence[PlanPoint], requests: int) -> Fraction:
    """On the line through the last two full plans; with fewer, through nothing.

    >>> expected_cost([PlanPoint(2, Fraction(18, 5))], 3)
    Fraction(27, 5)
    """
    nothing = PlanPoint(0, Fraction(0))
    before, last = [nothing, nothing, *points][-2:]
    if last.requests == before.requests:
        return last.cost
    slope = (last.cost - before.cost) / (last.requests - before.requests)
    return last.cost + slope * (requests - last.requests)
