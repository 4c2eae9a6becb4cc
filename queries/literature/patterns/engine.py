"""The engine: a plan at work, tick by tick, with its answer and the steps it took (chapter 3).

Within a tick, first everything that ends then ends, then relations change, then tuples arrive in the order given. So
a tuple that comes when another one ends does not meet it. With NT the windows end their tuples in the order of exp;
otherwise every operator looks for itself, consumers first.

Departs from chapter 5's loops, in which a tuple still lives at its own exp: it is live until before it, as in examples.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidewheel.queries.literature.patterns.approach import Approach, Way
from tidewheel.queries.literature.patterns.assembling import Assembler
from tidewheel.queries.literature.patterns.internal import Internal
from tidewheel.queries.literature.patterns.nodes import Node
from tidewheel.queries.literature.patterns.operators.operator import Edge
from tidewheel.queries.literature.patterns.operators.relations import NonRetroactiveJoin, RetroactiveJoin
from tidewheel.queries.literature.patterns.operators.windows import CountWindow, PredicateWindow
from tidewheel.queries.literature.patterns.stores import store_for
from tidewheel.queries.literature.patterns.view import Borrowed, View
from tidewheel.queries.literature.state.arrival_list import ArrivalList
from tidewheel.queries.literature.state.group_array import GroupArray
from tidewheel.queries.literature.state.hashed import Hashed
from tidewheel.queries.literature.state.records import FOREVER, REMOVED, Record, Steps
from tidewheel.queries.literature.state.store import Store
from tidewheel.queries.statements.history import Arrival, Update
from tidewheel.queries.statements.labels import Pattern, label
from tidewheel.queries.statements.legality import Illegal, check, check_direct, check_tuple
from tidewheel.queries.statements.plan import GroupBy, Operator
from tidewheel.queries.statements.statement import Statement


class Engine:
    """`logs`: the view also keeps the lives of its rows. `internal`: what INTERNAL windows produced stays."""

    def __init__(self, plan: Operator, approach: Approach, *, logs: bool = False, internal: bool = False) -> None:
        check(Statement(plan))
        if approach.way is Way.DIRECT:
            check_direct(plan)
            _check_root(plan)
        self.plan, self.approach, self.steps = plan, approach, Steps()
        self._root = Assembler(plan, approach, self.steps).node()
        self._nodes = [node for node in self._root.walk() if node.working is not None]
        self._leaves = [node for node in self._root.walk() if node.working is None]
        self._numbers = [0] * len(self._leaves)
        every = max(1, int(approach.lazy * self._root.year))
        self.view = View(self.steps, self._view_store(), every, approach.silence, logs=logs)
        self.internal = Internal() if internal else None
        self.now = -1
        for node in self._nodes:
            assert node.working is not None
            self._pass_on(node, node.working.begin(), 0)

    def _view_store(self) -> Store:
        root, approach = self._root, self.approach
        if root.working is not None and root.working.results is not None:
            return Borrowed(root.working.results)
        if isinstance(self.plan, GroupBy):
            return GroupArray(self.steps)
        if root.edge is Edge.NEGATIVE:
            return Hashed(self.steps, approach.chains)
        if approach.way is Way.DIRECT and root.pattern is not Pattern.MON:
            return ArrivalList(self.steps)
        return store_for(approach, self.steps, root.edge, root.pattern, root.year)

    def tick(self, now: int, arrivals: Iterable[Arrival] = (), updates: Iterable[Update] = ()) -> None:
        """Move to a later moment; results end at the ticks in between at which they are due."""
        check_tuple(now, FOREVER, self.now)
        for between in range(self.now + 1, now + 1):
            self._expire(between)
        self.now = now
        for update in updates:
            self._update(update)
        for arrival in arrivals:
            self._arrive(arrival, now)
        self.view.purge(now)

    def _expire(self, now: int) -> None:
        for node in self._nodes:
            assert node.working is not None
            self._pass_on(node, node.working.expire(now), now)

    def _update(self, update: Update) -> None:
        for node in self._nodes:
            if node.relation == update.relation:
                assert isinstance(node.working, NonRetroactiveJoin | RetroactiveJoin)
                self._pass_on(node, node.working.update(update), update.at)

    def _arrive(self, arrival: Arrival, now: int) -> None:
        for place, leaf in enumerate(self._leaves):
            if leaf.stream != arrival.stream:
                continue
            self._numbers[place] += 1
            exp = FOREVER if leaf.lifetime is None else now + leaf.lifetime
            record = Record((place, self._numbers[place]), arrival.values, now, exp)
            if self.internal is not None:
                self.internal.meet(record, FOREVER if leaf.is_internal else exp)
            self._pass_on(leaf, [record], now)

    def _pass_on(self, node: Node, records: list[Record], now: int) -> None:
        parent = node.parent
        if self.internal is not None and isinstance(node.working, CountWindow | PredicateWindow):
            for record in records:
                self.internal.meet(record, now if record.sign == REMOVED else FOREVER)
        for record in records:
            self.steps.calls += 1
            if parent is None:
                self._show(record, now)
                continue
            assert parent.working is not None
            takes = parent.working.remove if record.sign == REMOVED else parent.working.add
            self._pass_on(parent, takes(node.side, record, now), now)

    def _show(self, record: Record, now: int) -> None:
        self.view.take(record, now)
        if self.internal is not None and record.sign != REMOVED:
            self.internal.take(record)

    def answer(self) -> list[Record]:
        """Return the rows that are live now."""
        return self.view.answer(self.now) if self.internal is None else self.internal.answer(self.now)

    @property
    def state_size(self) -> int:
        """How many records the operators store; the view is not among them."""
        return sum(node.working.size for node in self._nodes if node.working is not None)


def _check_root(plan: Operator) -> None:
    found = label(plan)
    if found.pattern is Pattern.STR and not isinstance(plan, GroupBy):
        raise Illegal(
            "Direct expiration impossible: input of the view is STR "
            f"(count window / negation at {found.raised_by.title}); use negative-tuple mode."
        )


def played(engine: Engine, arrivals: Iterable[Arrival], updates: Iterable[Update], until: int) -> list[Any]:
    """Return the answer's rows at each tick from 0 on, as sorted values."""
    coming: dict[int, list[Arrival]] = {}
    changing: dict[int, list[Update]] = {}
    for arrival in arrivals:
        coming.setdefault(arrival.ts, []).append(arrival)
    for update in updates:
        changing.setdefault(update.at, []).append(update)
    found = []
    for now in range(until + 1):
        engine.tick(now, coming.get(now, ()), changing.get(now, ()))
        found.append(engine.answer())
    return found
