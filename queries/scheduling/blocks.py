"""The hybrid plan: which queries of a group run together, and how often.

Queries of a group with one period are a *sub-group*. Sub-groups that are due at once run together, so a rarer one may
cost less if it runs as often as a more frequent one: a *block* is sub-groups that share the shortest of their periods.
What a plan costs per slot, all blocks beginning together: at each moment the dearest of the blocks due is paid for,
since its scan answers the others on the way, and each query's own work on top.

Golab, *Sliding Window Query Processing over Data Streams*, Waterloo 2006, chapter 8.
No listing is printed: partitions are enumerated, as costs of blocks interact; many are merged greedily.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations

from tidewheel.queries.planning.edge_counts import edge_rate
from tidewheel.queries.scheduling.run_costs import Periodic, RunCosts, SynopsisKind

EXACT_MAX = 8


@dataclass(frozen=True)
class Block:
    members: tuple[Periodic, ...]

    @cached_property
    def period(self) -> int:
        return min(one.period for one in self.members)

    def joined(self, other: Block) -> Block:
        return Block(self.members + other.members)


Blocks = tuple[Block, ...]


def sub_groups(queries: Iterable[Periodic]) -> Blocks:
    """Queries of one period together, the shortest first."""
    found: dict[int, list[Periodic]] = {}
    for query in queries:
        found.setdefault(query.period, []).append(query)
    return tuple(Block(tuple(found[period])) for period in sorted(found))


@lru_cache(maxsize=100_000)
def due_share(periods: frozenset[int]) -> Fraction:
    """The share of slots at which some period is due.

    >>> due_share(frozenset({2, 3}))
    Fraction(2, 3)
    """
    return edge_rate([(period, 0) for period in periods]) if periods else Fraction(0)


def rate(plan: Iterable[Block], costs: RunCosts) -> Fraction:
    """Return the cost of a plan per slot."""
    blocks = list(plan)
    own = sum((Fraction(len(block.members) * costs.after) / block.period for block in blocks), Fraction(0))
    return own + (_dearest(blocks, costs) if costs.kind is SynopsisKind.BASIC else _by_window(blocks, costs))


def _dearest(blocks: Sequence[Block], costs: RunCosts) -> Fraction:
    """Scans that answer all on their way: of the blocks due, the deepest counts."""
    scans = sorted(((costs.scan(one.window for one in block.members), block.period) for block in blocks), reverse=True)
    total, seen, before = Fraction(0), frozenset[int](), Fraction(0)
    for scan, period in scans:
        seen = _without_multiples(seen, period)
        share = due_share(seen)
        total += scan * (share - before)
        before = share
    return total


def _without_multiples(periods: frozenset[int], period: int) -> frozenset[int]:
    if any(period % one == 0 for one in periods):
        return periods
    return frozenset([period, *(one for one in periods if one % period)])


def _by_window(blocks: Sequence[Block], costs: RunCosts) -> Fraction:
    """Probes that only queries of the same window share."""
    periods: dict[int, frozenset[int]] = {}
    for block in blocks:
        for window in {one.window for one in block.members}:
            periods[window] = _without_multiples(periods.get(window, frozenset()), block.period)
    return sum((costs.window(window) * due_share(some) for window, some in periods.items()), Fraction(0))


def planned(queries: Iterable[Periodic], costs: RunCosts, exact_max: int = EXACT_MAX) -> Blocks:
    """The cheapest plan of one group: of all partitions of few sub-groups; of more, by the merge that saves most.

    One block for all is always among those compared. Ties: more blocks, then the order of sub-groups.
    """
    parts = sub_groups(queries)
    if not parts:
        return ()
    if len(parts) <= exact_max:
        return min(_partitions(parts), key=lambda plan: (rate(plan, costs), -len(plan), _order(plan)))
    whole = (Block(tuple(one for part in parts for one in part.members)),)
    return min(_merged(parts, costs), whole, key=lambda plan: rate(plan, costs))


def _partitions(parts: Blocks) -> Iterator[Blocks]:
    if not parts:
        yield ()
        return
    first, rest = parts[0], parts[1:]
    for size in range(len(rest) + 1):
        for chosen in combinations(rest, size):
            block = first
            for one in chosen:
                block = block.joined(one)
            for others in _partitions(tuple(one for one in rest if one not in chosen)):
                yield (block, *others)


def _order(plan: Blocks) -> list[tuple[str, ...]]:
    return [tuple(one.name for one in block.members) for block in plan]


def _merged(parts: Blocks, costs: RunCosts) -> Blocks:
    plan, cost = parts, rate(parts, costs)
    while len(plan) > 1:
        tried = [_with_merge(plan, one, other) for one, other in combinations(plan, 2)]
        best = min(tried, key=lambda found: rate(found, costs))
        if rate(best, costs) >= cost:
            break
        plan, cost = best, rate(best, costs)
    return plan


def _with_merge(plan: Blocks, one: Block, other: Block) -> Blocks:
    joined = one.joined(other)
    return tuple(joined if block is one else block for block in plan if block is not other)
