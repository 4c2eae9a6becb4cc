"""The work of a refresh, tree by tree: as periodic queries that schedulers and forecasts understand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidewheel.queries.planning.known import Known
from tidewheel.queries.planning.loom import Loom
from tidewheel.queries.planning.measured_model import Constants, MeasuredModel
from tidewheel.queries.planning.standing_requests import request_of
from tidewheel.queries.planning.workload import Workload
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.tree import Assignment, window_of


@dataclass(frozen=True)
class TreeLoad:
    """Whole nanoseconds. `update_ns` is what partials cost per slot, `slot_ns` the reading of one slot of them."""

    queries: tuple[Query, ...]
    update_ns: int
    slot_ns: int
    report_ns: Mapping[str, int]  # by query, of one answer
    windows: Mapping[str, int]  # by query, in slots
    periods: Mapping[str, int]

    @property
    def slot_mean_ns(self) -> float:
        """Return the mean work per slot."""
        read = max((self.windows[name] / period for name, period in self.periods.items()), default=0.0)
        return self.update_ns + self.slot_ns * read + sum(self.report_ns[name] / p for name, p in self.periods.items())


def load_of(queries: Sequence[Query], known: Known) -> TreeLoad:
    """Return the load of queries of one kind in one tree."""
    loom = Loom(Workload(tuple(map(request_of, queries)), known.rate), known.model("measured"))
    model, tree = loom.model, loom.whole(loom.singles)
    assert isinstance(model, MeasuredModel)
    constants = known.constants or Constants(refresh=known.interval_us)
    amounts = model.amounts(loom.space.count(tree.edges), tree.state)
    rows = amounts.written * known.interval_us
    folding = (
        amounts.trees * constants.tree_ns
        + amounts.records * constants.record_ns
        + amounts.predicates * constants.predicate_ns
        + amounts.written * constants.written_ns
    )
    answers = {
        query.name: single.state.answers / max(1, single.state.reports)
        for query, single in zip(queries, loom.singles, strict=True)
    }
    return TreeLoad(
        queries=tuple(queries),
        update_ns=round(folding * known.interval_us),
        slot_ns=max(1, round(rows * constants.read_ns)),
        report_ns={name: round(constants.report_ns + rows * constants.answer_ns) for name, rows in answers.items()},
        windows={query.name: _slots(window_of(query).length, known.interval_us) for query in queries},
        periods={query.name: _slots(query.terms.slide_us, known.interval_us) for query in queries},
    )


def _slots(duration_us: int, interval_us: int) -> int:
    return -(-duration_us // interval_us)


def node_of(assignment: Assignment, queries: Sequence[Query], known: Known, nodes: int) -> dict[str, int]:
    """Share trees out among nodes, numbered from 1: the dearest tree first, each to the node with the least work."""
    costs = {}
    for tree in assignment.trees:
        mine = [query for query in queries if assignment.tree_of.get(query.name) == tree.name]
        costs[tree.name] = load_of(mine, known).slot_mean_ns
    found, loads = {}, [0.0] * nodes
    for name in sorted(costs, key=lambda one: (-costs[one], one)):
        node = min(range(nodes), key=loads.__getitem__)
        loads[node] += costs[name]
        found[name] = node + 1
    return found
