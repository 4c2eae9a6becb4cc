"""A stream in order, one shared plan, one technique: records go in, answers come out. Two-Ops of the literature.

Records fold into the open fragment (partial aggregation). When time passes its end it is closed and inserted into the
technique, and every report that is due is answered from the newest partials (final aggregation). A report inside a
fragment, as Cutty has them, joins the open one to its answer. An empty fragment inserts the identity, or None.

A late record is harmless while its fragment is open, and refused after that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.choice import choose
from tidewheel.queries.operation import Operation
from tidewheel.queries.shared_plan import SharedPlan
from tidewheel.queries.technique import Technique
from tidewheel.queries.windows import Window


@dataclass(frozen=True)
class Answer:
    window: Window
    report: int
    accumulator: Any


class Incremental:
    """Begins at `start`: what came before is not there, and windows that reach back see what is."""

    def __init__(
        self,
        plan: SharedPlan,
        operation: Operation,
        start: int,
        technique: type[Technique] | None = None,
        *,
        checked: bool = False,
    ) -> None:
        # A window inside one open fragment asks the technique for nothing.
        counts = [count for count in plan.counts if count] or [1]
        make = technique or choose(operation, counts)
        self.plan, self.operation, self.now = plan, operation, start
        self.technique = make(operation, counts, checked=checked)
        self.open_number, self.open_partial = plan.number_of(start), operation.identity

    def add(self, at: int, *inputs: Any) -> list[Answer]:
        """One record. What it moves time past is answered first."""
        answers = list(self.advance(at)) if at > self.now else []
        if self.plan.number_of(at) < self.open_number:
            edge = self.plan.start_of(self.open_number)
            raise InvalidInput(
                f"tuple at time {at} belongs to a closed fragment (last edge {edge}); late tuples are not folded in",
                "recompute what it touches from the archive",
            )
        self.open_partial = self.operation.join(self.open_partial, self.operation.lift(*inputs))
        return answers

    def advance(self, until: int) -> Iterator[Answer]:
        """Every report that is due by now and was not given yet, ascending."""
        for report, windows in self.plan.reports_between(self.now, until):
            self._close_fragments(report)
            yield from (self._answer(window, report) for window in windows)
            self.now = report
        self._close_fragments(until)
        self.now = until

    def _close_fragments(self, until: int) -> None:
        while self.plan.end_of(self.open_number) <= until:
            self.technique.insert(self.open_partial)
            self.open_number, self.open_partial = self.open_number + 1, self.operation.identity

    def _answer(self, window: Window, report: int) -> Answer:
        run = self.plan.run(window, report)
        closed = self.technique.query(run.count) if run.count else None
        return Answer(window, report, self.operation.join(closed, self.open_partial) if run.is_open else closed)

    def state(self) -> dict[str, Any]:
        """All that carries on: enough to go on with in another process."""
        return {
            "now": self.now,
            "open_number": self.open_number,
            "open_partial": self.open_partial,
            "technique": self.technique.state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self.now, self.open_number = state["now"], state["open_number"]
        self.open_partial = state["open_partial"]
        self.technique.restore(state["technique"])
