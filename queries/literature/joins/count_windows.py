"""Count windows: an arrival beyond the newest N ends the oldest tuple, by a negative tuple.

Golab, Waterloo 2006, chapter 5 (strict non-monotonic inputs, W5): no tuple knows its end when it comes. Events are in
one total order, which is the clock; the negative goes before the arrival that causes it. Algorithm 2 gives negative
results at once, Algorithms 4 and 5 at their run; Algorithm 3 cannot.

No listing is printed: the source says what each algorithm does with a negative tuple.

Cost of an eviction: its search in a list, and a probe.
"""

from __future__ import annotations

from collections import deque

from tidewheel.queries.literature.joins.engine import JoinEngine
from tidewheel.queries.literature.joins.window_join import Result
from tidewheel.queries.literature.state.records import Record


class CountWindows:
    """Stands before an engine and evicts; inputs with a time window pass through."""

    def __init__(self, engine: JoinEngine) -> None:
        self.engine = engine
        self._held: list[deque[Record]] = [deque() for _ in engine.join.windows]

    def arrive(self, stream: int, record: Record) -> list[Result]:
        rows, held = self.engine.join.windows[stream].rows, self._held[stream]
        found = self.engine.retract(stream, held.popleft(), record.ts) if rows and len(held) == rows else []
        if rows and record.values[0] is not None:
            held.append(record)
        return found + self.engine.arrive(stream, record)

    def run(self, now: float) -> list[Result]:
        return self.engine.run(now)
