"""The listings of window joins as they are printed, wrong: to show that the corrections are needed."""

from __future__ import annotations

from tidewheel.queries.literature.joins.lazy import Lazy
from tidewheel.queries.literature.joins.lazy_engine import by_key
from tidewheel.queries.literature.joins.lazy_restore import LazyRestore
from tidewheel.queries.literature.joins.probing import Stack, probe
from tidewheel.queries.literature.joins.window_join import Result
from tidewheel.queries.literature.state.records import Record


class FirstFix(LazyRestore):
    """Algorithm 5 without its upper bound on ends, and no more: each partner's end against the group's tuple alone."""

    def _valid(self, stream: int, group: list[Record], stack: Stack, now: float) -> list[Result]:
        found = [
            self._result(stream, record, stack)
            for record in group
            if all(self.alive(record.ts, held.exp) for held in stack)
        ]
        return [result._replace(restored=not self.alive(now, result.exp)) for result in found]


class Printed(FirstFix):
    """Algorithm 5 as printed: partners that ended by NOW, and no others."""

    def _valid(self, stream: int, group: list[Record], stack: Stack, now: float) -> list[Result]:
        return super()._valid(stream, group, stack, now) if all(held.exp <= now for held in stack) else []


class Unguarded(Lazy):
    """Algorithm 4 as printed: new tuples that are dead at NOW are stored and probe."""

    def _join_new(self, stream: int, now: float) -> list[Result]:
        before = self.alive
        self.alive = lambda moment, end: True
        try:
            return super()._join_new(stream, now)
        finally:
            self.alive = before


class AllFirst(Lazy):
    """Algorithm 4 with all streams stored before any probes: results of two new tuples come twice."""

    def run(self, now: float) -> list[Result]:
        came = [self._take_pending(stream, now) for stream in range(len(self.windows))]
        for stream, records in enumerate(came):
            for record in records:
                self._insert(stream, record)
        found = []
        for stream, records in enumerate(came):
            for key, group in by_key(records).items():
                stacks = probe(self._probed[stream], key, self.counts)
                found += [self._result(stream, record, stack) for stack in stacks for record in group]
        self.purged_through = now + self.slide
        self._purge_all(self.purged_through)
        self.previous = now
        return found
