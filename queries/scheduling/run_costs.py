"""The cost of one run of queries that share a synopsis: merges of its values, and each query's own work after them.

- basic intervals: one scan from the youngest slot to the end of the longest window answers every window on its way;
- a running synopsis: one difference for each different window;
- intervals: the cover of each different window, on average over versions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from tidewheel.queries.scheduling.covers import cover_length_mean, power_of_two_from

Cost = int | Fraction


class SynopsisKind(StrEnum):
    RUNNING = "R"
    INTERVAL = "I"
    BASIC = "BI"


@dataclass(frozen=True)
class Periodic:
    """A query that is answered again: over its newest `window` slots, at most `period` slots after the last time."""

    name: str
    window: int
    period: int
    priority: int = 0


@dataclass(frozen=True)
class RunCosts:
    kind: SynopsisKind = SynopsisKind.BASIC
    merge: Cost = 1
    after: Cost = 0  # of each query: sorting, ranking, storing
    slots_max: int = 0  # of an interval synopsis: what it reaches back, a power of two

    def scan(self, windows: Iterable[int]) -> Cost:
        """
        >>> RunCosts().scan([10, 15, 30]), RunCosts(SynopsisKind.RUNNING).scan([10, 15, 10])
        (29, 2)
        """
        distinct = set(windows)
        if self.kind is SynopsisKind.BASIC:
            return self.window(max(distinct))
        return sum(map(self.window, distinct))

    def window(self, count: int) -> Cost:
        """Return the cost of one window by itself."""
        if self.kind is SynopsisKind.RUNNING:
            return self.merge
        if self.kind is SynopsisKind.BASIC:
            return (count - 1) * self.merge
        return (cover_length_mean(count, self.slots_max or power_of_two_from(count)) - 1) * self.merge

    def run(self, queries: Iterable[Periodic]) -> Cost:
        members = list(queries)
        return self.scan(one.window for one in members) + len(members) * self.after
