"""Trees for standing queries by a planner: who shares is decided by cost, pool by pool."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tidewheel.queries.planning.catalogue import planner_named
from tidewheel.queries.planning.cost_model import INFINITE, ModelMaker
from tidewheel.queries.planning.known import Known
from tidewheel.queries.planning.loom import Loom
from tidewheel.queries.planning.plan import Draw, Planner
from tidewheel.queries.planning.planners.settle import SETTLE
from tidewheel.queries.planning.standing_requests import pools, request_of
from tidewheel.queries.planning.workload import Workload
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.tree import Grouping

DEFAULT = SETTLE.name
DAY_US = 86_400_000_000


def planned_by(planner: str, known: Callable[[Sequence[Query]], Known], draw: Draw) -> Grouping:
    """Return a plan that shares trees by the measured cost.

    It asks for figures of records only where there is a choice.
    """

    def trees(queries: Sequence[Query]) -> list[list[Query]]:
        return [[query for query in queries if query.name in names] for names in _trees(queries, planner, known, draw)]

    return trees


def _trees(
    queries: Sequence[Query], planner: str, known: Callable[[Sequence[Query]], Known], draw: Draw
) -> Iterator[frozenset[str]]:
    chosen = planner_named(planner or DEFAULT)
    for pool in pools(queries):
        if len(pool.requests) == 1:
            yield frozenset({pool.requests[0].name})
            continue
        told = known(queries)
        yield from _carried_out(chosen, Workload(pool.requests, told.rate), told.model("measured"), draw)


def _carried_out(planner: Planner, workload: Workload, model: ModelMaker, draw: Draw) -> Iterator[frozenset[str]]:
    """Its trees; in place of one that cannot be carried out, since not all planners look, several by Settle."""
    loom = Loom(workload, model)
    positions = {request.name: position for position, request in enumerate(workload.requests)}
    for names in planner.plan(loom, draw).trees:
        if loom.tree(positions[name] for name in names).cost < INFINITE:
            yield frozenset(names)
        else:
            requests = tuple(request for request in workload.requests if request.name in names)
            yield from map(frozenset, SETTLE.plan(Loom(Workload(requests, workload.rate), model), draw).trees)


@dataclass(frozen=True)
class Why:
    """The cost of a query in seconds of work a day: what it adds to its tree, and what it would cost alone."""

    is_kept: bool  # its partials were there before
    planner: str
    added_s: float
    alone_s: float

    def __str__(self) -> str:
        how = "kept as it is" if self.is_kept else f"planned by {self.planner}"
        return f"{how}; the query adds {self.added_s:,.2f} s of work a day, alone it would cost {self.alone_s:,.2f} s"


def why(query: Query, sharing: Sequence[Query], known: Known, planner: str, *, is_kept: bool) -> Why:
    """Why a query is in a tree with these (itself among them)."""
    requests = tuple(request_of(one) for one in sharing)
    loom = Loom(Workload(requests, known.rate), known.model("measured"))
    own = next(single for single, one in zip(loom.singles, requests, strict=True) if one.name == query.name)
    others = [single for single in loom.singles if single is not own]
    added = loom.whole(loom.singles).cost - loom.whole(others).cost if others else own.cost
    return Why(is_kept, planner_named(planner or DEFAULT).name, seconds_a_day(added), seconds_a_day(own.cost))


def seconds_a_day(cost: float) -> float:
    """Convert nanoseconds per microsecond to seconds a day."""
    return float(cost) * DAY_US / 1e9
