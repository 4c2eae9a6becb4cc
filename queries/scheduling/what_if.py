"""A forecast for queries that are not registered yet: the tree they would get, and its effect on all others.

alias      the same query is there, answered at least as often
attach     a tree that is kept serves: the next refresh answers
backfill   a tree is folded from records that can still be read whole: exact from the first answer on
new        records of the window have gone: exact from the moment that is named
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidewheel.indexing.core.slots import TimeAxis, iso
from tidewheel.queries.scheduling.schedule_forecast import Scheduled
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.tree import Assignment, StoredTrees, window_of


@dataclass(frozen=True)
class Newcomer:
    query: str
    case: str
    uses: str  # the query it is an alias of, or the tree
    shares_with: tuple[str, ...]
    exact_from_us: int | None  # None: at once
    period_s: float  # asked for
    effective_period_s: float  # under the load of all

    def to_json(self) -> dict[str, Any]:
        return {
            "query": self.query,
            "case": self.case,
            "uses": self.uses,
            "shares_with": list(self.shares_with),
            "exact_from": None if self.exact_from_us is None else iso(self.exact_from_us),
            "period_s": self.period_s,
            "effective_period_s": self.effective_period_s,
        }


@dataclass(frozen=True)
class WhatIf:
    newcomers: tuple[Newcomer, ...]
    before: Scheduled | None  # None while there are no queries
    after: Scheduled

    def to_json(self) -> dict[str, Any]:
        return {
            "queries": [one.to_json() for one in self.newcomers],
            "before": None if self.before is None else self.before.to_json(),
            "after": self.after.to_json(),
        }


@dataclass(frozen=True)
class Stored:
    """The state before the new queries: trees, the present, and whether a slot's batch can still be read whole."""

    kept: StoredTrees
    axis: TimeAxis
    life_us: int
    present_us: int
    is_whole: Callable[[int], bool]


def newcomer(
    query: Query, present: Sequence[Query], assignment: Assignment, stored: Stored, after: Scheduled
) -> Newcomer:
    tree = assignment.tree(query.name)
    same = next((one.name for one in present if _is_same(one, query)), None)
    exact_from_us, case = None, "alias" if same else "attach"
    if same is None and tree not in stored.kept.trees:
        exact_from_us = _exact_from_us(query, stored)
        case = "backfill" if exact_from_us is None else "new"
    shares = tuple(sorted(one for one, name in assignment.tree_of.items() if name == tree.name and one != query.name))
    period_s = query.terms.slide_us / 1e6
    return Newcomer(query.name, case, same or tree.name, shares, exact_from_us, period_s,
                    max(period_s, after.effective_periods_s[query.name]))  # fmt: skip


def _is_same(one: Query, other: Query) -> bool:
    """The same but for name and output names, at least as often."""

    def bare(query: Query) -> Query:
        return replace(query, name="", outputs=(), technique="", terms=replace(query.terms, slide_us=1, keep_us=1))

    often = other.terms.slide_us % one.terms.slide_us == 0
    return often and one.terms.offset_us == other.terms.offset_us and bare(one) == bare(other)


def _exact_from_us(query: Query, stored: Stored) -> int | None:
    """The end of the first window all of whose slots can be read; None if the newest one's can."""
    window_us = query.terms.window_us or stored.life_us
    first = stored.axis.slot_of(stored.present_us - window_us)
    last = stored.axis.slot_of(stored.present_us - 1)
    gone = [slot for slot in range(first, last + 1) if not stored.is_whole(slot)]
    if not gone:
        return None
    from_us = stored.axis.end_us(max(gone)) + window_us
    return next(iter(window_of(query).reports_between(from_us - 1, from_us + query.terms.slide_us)))
