"""Algorithm 5, Lazy Multi-Way Join with restore: results that came and went between two runs are reported late.

Golab, Waterloo 2006, chapter 5 (`LazyRestoreComputeJoin`), corrected. As Algorithm 4, but a run purges *behind*, so
tuples that died since the last run still find their partners, and lives are compared.

Departs from the listing in three ways, as it was wrong by a brute-force oracle:

- its loops test mints <= exp <= NOW, which joins only what has expired: the upper bound is dropped;
- it compares each partner's end with the group's tuple alone, but another new partner may be younger (W2): a result is
  tested whole, the greatest ts of all parts against the least end;
- it purges by ts < NOW - T: an input with lives of its own needs its exp.

Reports every result that Algorithm 2 reports, by the next run; `restored` marks those that are dead by then. Right for
any Δ. Cost: a probe per key and run, a test for each tuple visited and for each result. Space: Σ λT between runs.
"""

from __future__ import annotations

from tidewheel.queries.literature.joins.lazy_engine import LazyEngine, by_key
from tidewheel.queries.literature.joins.probing import Stack, probe_alive
from tidewheel.queries.literature.joins.window_join import Result
from tidewheel.queries.literature.state.records import Record


class LazyRestore(LazyEngine):
    name = "lazyR"

    def run(self, now: float) -> list[Result]:
        self._begin(now)
        found = self._withdraw()
        for stream in self.join.probing:
            found += self._report(self._join_new(stream, now))
        self._note_size()
        for window in range(len(self.windows)):
            self._purge(window, now)
        self.previous = now
        return found

    def _join_new(self, stream: int, now: float) -> list[Result]:
        came = self._take_pending(stream, now)
        for record in came:
            self._insert(stream, record)
        found = []
        for key, group in by_key(came).items():
            earliest = min(record.ts for record in group)
            for stack in probe_alive(self._probed[stream], key, earliest, self.alive, self.counts):
                found += self._valid(stream, group, stack, now)
        return found

    def _valid(self, stream: int, group: list[Record], stack: Stack, now: float) -> list[Result]:
        """Return the results of a group with one combination of partners: all parts alive at the last one's birth."""
        end, born = min(held.exp for held in stack), max(held.ts for held in stack)
        self.counts.timestamp_tests += len(group)
        found = []
        for record in group:
            if self.alive(max(born, record.ts), min(end, record.exp)):
                result = self._result(stream, record, stack)
                is_dead = not self.alive(now, result.exp)
                self.counts.restored += is_dead
                found.append(result._replace(restored=is_dead))
        return found

    def retract(self, stream: int, record: Record, at: float) -> list[Result]:
        """Let a tuple end at the negative's moment: it still joins what lived beside it, and the next run purges it."""
        self._invalid.append((stream, record.id))
        ended = record._replace(exp=at)
        waiting = self._pending[stream]
        if any(one.id == record.id for one in waiting):
            self._pending[stream] = [ended if one.id == record.id else one for one in waiting]
        else:
            self.windows[stream].discard(record)
            self.windows[stream].insert(ended)
        return []
