"""A plan as a window join: its windows in the order of its joins, and the tuples that come to each of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tidewheel.queries.literature.joins.window_join import Arrival, JoinWindow, WindowJoin
from tidewheel.queries.literature.state.records import FOREVER, Record
from tidewheel.queries.statements.history import History
from tidewheel.queries.statements.legality import Illegal
from tidewheel.queries.statements.plan import CountWindow, Join, Operator, Select, Stream, TimeWindow, operators


@dataclass(frozen=True)
class PlannedJoin:
    """`inputs` are the subplans that are joined, each over one window; `keys` their columns of the join attribute."""

    inputs: tuple[Operator, ...]
    keys: tuple[str, ...]
    join: WindowJoin

    def arrivals(self, history: History) -> Iterator[Arrival]:
        """Give the tuples of the inputs, each named by its place in the history."""
        for place, one in enumerate(history.arrivals):
            for stream, subplan in enumerate(self.inputs):
                leaf, window = _leaf(subplan)
                if leaf.name == one.stream and _passes(subplan, one.values):
                    key = one.values[subplan.columns.index(self.keys[stream])]
                    end = one.ts + window.length if isinstance(window, TimeWindow) else FOREVER
                    yield Arrival(stream, Record((place,), (key,), one.ts, end))


def planned_join(plan: Operator) -> PlannedJoin:
    """Return the plan as a join of windows on one attribute; refuse any other plan."""
    inputs, pairs = tuple(_inputs(plan)), list(_pairs(plan))
    if len(inputs) < 2 or any(not _is_window(one) for one in inputs):
        raise Illegal(f"{plan.title} is no join of windows", "window joins play Q1 and the tables of their chapter")
    keys = [_key(one, pairs) for one in inputs]
    known = {keys[0]}
    for _ in inputs:
        known |= {column for pair in pairs if known & set(pair) for column in pair}
    if set(keys) != known:
        raise Illegal("the join is on several attributes", "window joins are on one that all inputs share")
    windows = tuple(_join_window(one) for one in inputs)
    return PlannedJoin(inputs, tuple(keys), WindowJoin(windows))


def _inputs(plan: Operator) -> Iterator[Operator]:
    if isinstance(plan, Join):
        yield from _inputs(plan.left)
        yield from _inputs(plan.right)
    else:
        yield plan


def _pairs(plan: Operator) -> Iterator[tuple[str, str]]:
    if isinstance(plan, Join):
        yield from plan.on
        yield from _pairs(plan.left)
        yield from _pairs(plan.right)


def _is_window(one: Operator) -> bool:
    """Return if a subplan is one window, with selections below and above it."""
    kinds = [type(found) for found in operators(one)]
    is_windowed = kinds.count(TimeWindow) + kinds.count(CountWindow) == 1
    partitioned = any(isinstance(found, CountWindow) and found.per for found in operators(one))
    above = kinds[: kinds.index(CountWindow)] if CountWindow in kinds else []
    known = set(kinds) <= {TimeWindow, CountWindow, Select, Stream}
    return is_windowed and known and not partitioned and not above


def _key(one: Operator, pairs: list[tuple[str, str]]) -> str:
    keys = sorted({column for pair in pairs for column in pair if column in one.columns})
    if len(keys) != 1:
        raise Illegal(f"{one.title} is joined on {len(keys)} attributes", "window joins are on one that all share")
    return keys[0]


def _leaf(one: Operator) -> tuple[Stream, TimeWindow | CountWindow]:
    found = list(operators(one))
    [leaf] = [below for below in found if isinstance(below, Stream)]
    [window] = [below for below in found if isinstance(below, TimeWindow | CountWindow)]
    return leaf, window


def _join_window(one: Operator) -> JoinWindow:
    _, window = _leaf(one)
    if isinstance(window, CountWindow):
        return JoinWindow(rows=window.rows)
    return JoinWindow(window.length, internal=window.internal)


def _passes(one: Operator, values: tuple[Any, ...]) -> bool:
    row = dict(zip(one.columns, values, strict=True))
    conditions = [condition for found in operators(one) if isinstance(found, Select) for condition in found.conditions]
    return all(condition.holds(row) for condition in conditions)
