"""Algorithm 3, eager evaluation with lazy expiration: the dead stay for a while, and are passed by.

Golab, Waterloo 2006, chapter 5 (`ComputeJoinLazyExp`): as Algorithm 2 without its purge; instead each tuple visited is
tested by its end before it is compared, and a purge comes every Δe. Purges go by the operator's clock, the ts processed
last, never by the wall's. Refuses negative tuples: the test needs known ends.

Follows the listing; section 5.4.3 of the source names this algorithm and Algorithm 2 the wrong way round.

Answers as Algorithm 2 does, at once. Cost: as Algorithm 2, and a test for each tuple visited. Space: Σ λ(T + Δe).
"""

from __future__ import annotations

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.joins.engine import JoinEngine
from tidewheel.queries.literature.joins.probing import probe_alive
from tidewheel.queries.literature.joins.window_join import Result, WindowJoin
from tidewheel.queries.literature.state.records import Record
from tidewheel.queries.statements.legality import Illegal


class EagerLazyExpiration(JoinEngine):
    name = "eager_lazyexp"

    def __init__(self, join: WindowJoin, purge_every: float) -> None:
        if join.is_strict:
            raise Illegal(
                "Direct expiration impossible: input of eager_lazyexp is STR (count window / negation at "
                f"stream {_strict(join)}); use negative-tuple mode."
            )
        if purge_every <= 0:
            raise InvalidInput(f"a purge every {purge_every}", "give a time above 0")
        super().__init__(join)
        self._every = purge_every
        self._purged: float | None = None

    def arrive(self, stream: int, record: Record) -> list[Result]:
        if not self._is_taken(stream, record):
            return []
        self._purge_now_and_then(record.ts)
        self._insert(stream, record)
        self._note_size()
        stacks = probe_alive(self._probed[stream], record.values[0], record.ts, self.alive, self.counts)
        return [self._result(stream, record, stack) for stack in stacks]

    def _purge_now_and_then(self, clock: float) -> None:
        """Purge at the multiples of Δe that the clock passes, before what comes then."""
        due = clock // self._every
        if self._purged is not None and due > self._purged:
            for window in range(len(self.windows)):
                self._purge(window, due * self._every)
        self._purged = due


def _strict(join: WindowJoin) -> int:
    return 1 + next(place for place, window in enumerate(join.windows) if window.rows is not None)
