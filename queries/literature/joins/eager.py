"""Algorithm 2, Eager Multi-Way Join: each arrival purges the other windows and probes them.

Golab, Waterloo 2006, chapter 5; with two windows the binary join of Kang et al., with endless lifetimes the
multi-way hash join of Viglas et al. A new tuple is stored, the dead are removed from all other windows, and the loops
give every result at its birth, once: by its part that was processed last.

Departs from the listing: a timer purges all windows (`run`), as a stream's own arrivals do not purge its own window,
which would grow for ever where the others are silent. Cost of a tuple: the visits of the loops, O(1) amortised for
expiry, and the results. Space: Σ λT.
"""

from __future__ import annotations

from tidewheel.queries.literature.joins.engine import JoinEngine
from tidewheel.queries.literature.joins.probing import probe
from tidewheel.queries.literature.joins.window_join import Result
from tidewheel.queries.literature.state.records import Record


class Eager(JoinEngine):
    name = "eager"

    def arrive(self, stream: int, record: Record) -> list[Result]:
        if not self._is_taken(stream, record):
            return []
        self._insert(stream, record)
        self._purge_others(stream, record.ts)
        self._note_size()
        stacks = probe(self._probed[stream], record.values[0], self.counts)
        return [self._result(stream, record, stack) for stack in stacks]

    def run(self, now: float) -> list[Result]:
        for window in range(len(self.windows)):
            self._purge(window, now)
        return []

    def retract(self, stream: int, record: Record, at: float) -> list[Result]:
        """Remove a tuple and give the negative of each live result that it is part of."""
        self.windows[stream].discard(record)
        self._purge_others(stream, at)
        found = [
            self._result(stream, record, stack, -1)
            for stack in probe(self._probed[stream], record.values[0], self.counts)
        ]
        self.counts.withdrawn += len(found)
        self.counts.results -= len(found)
        return found

    def _purge_others(self, stream: int, moment: float) -> None:
        for other in range(len(self.windows)):
            if other != stream:
                self._purge(other, moment)
