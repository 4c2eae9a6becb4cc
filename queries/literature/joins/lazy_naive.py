"""Naive lazy: Algorithm 2 used again every Δ, a probe for each new tuple.

Golab, Waterloo 2006, chapter 5, the baseline of Algorithm 4: at a run the dead are removed, then each new tuple that is
still alive is stored and probes, in the order of time. Right for no-restore.

No listing is printed: the source says that Algorithm 2 may be run so.

Cost: a probe per tuple, where Algorithm 4 probes once for all tuples of a key. Space: Σ λT, as tuples that die before
the next run are kept.
"""

from __future__ import annotations

from tidewheel.queries.literature.joins.lazy_engine import LazyEngine
from tidewheel.queries.literature.joins.probing import probe
from tidewheel.queries.literature.joins.window_join import Result


class LazyNaive(LazyEngine):
    name = "lazy_naive"

    def run(self, now: float) -> list[Result]:
        self._begin(now)
        found = self._withdraw()
        for window in range(len(self.windows)):
            self._purge(window, now)
        came = [(stream, record) for stream in self.join.probing for record in self._take_pending(stream, now)]
        for stream, record in sorted(came, key=lambda one: one[1].ts):
            if self.alive(now, record.exp):
                self._insert(stream, record)
                stacks = probe(self._probed[stream], record.values[0], self.counts)
                found += self._report([self._result(stream, record, stack) for stack in stacks])
        self._note_size()
        self.previous = now
        return found
