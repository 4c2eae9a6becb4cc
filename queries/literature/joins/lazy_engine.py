"""The common part of lazy algorithms: tuples wait for a run, and reported results may be withdrawn.

A run at NOW takes what came in (PREV, NOW]. The thesis does not say how a lazy run withdraws results of earlier runs
when a negative tuple came since (W5): here every reported result is found by the ids of its parts, and a run first
takes back those that lost one. They are kept only where there are negative tuples.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.joins.engine import JoinEngine
from tidewheel.queries.literature.joins.window_join import Result, WindowJoin
from tidewheel.queries.literature.state.records import Record
from tidewheel.queries.statements.legality import Illegal


class LazyEngine(JoinEngine):
    """`first` is the moment before the first run's slide."""

    def __init__(self, join: WindowJoin, slide: float, first: float = 0) -> None:
        if slide <= 0:
            raise InvalidInput(f"a run every {slide}", "give a time above 0")
        super().__init__(join)
        self.slide, self.previous = slide, first
        self._pending: list[list[Record]] = [[] for _ in join.windows]
        self._invalid: list[tuple[int, tuple[Any, ...]]] = []
        self._reported: dict[tuple[int, Any], set[Result]] = defaultdict(set)

    def arrive(self, stream: int, record: Record) -> list[Result]:
        if record.ts <= self.previous:
            raise Illegal(f"Tuple ts={record.ts} not after watermark τ_k={self.previous} (late data)")
        if self._is_taken(stream, record):
            self._pending[stream].append(record)
        return []

    def retract(self, stream: int, record: Record, at: float) -> list[Result]:
        """Remove a tuple at once, also where it waits for its run; its results are withdrawn at the run."""
        self._invalid.append((stream, record.id))
        self._pending[stream] = [one for one in self._pending[stream] if one.id != record.id]
        self.windows[stream].discard(record)
        return []

    def _take_pending(self, stream: int, now: float) -> list[Record]:
        """Remove and return what came by now; what came later waits for its run."""
        waiting = self._pending[stream]
        self._pending[stream] = [record for record in waiting if record.ts > now]
        return [record for record in waiting if record.ts <= now]

    def _begin(self, now: float) -> None:
        if now <= self.previous:
            raise Illegal(
                f"a run at {now} after that of {self.previous}", f"the next run is that of {self.previous + self.slide}"
            )

    def _withdraw(self) -> list[Result]:
        """Take back the reported results that lost a part since the last run."""
        gone = {result for stream, name in self._invalid for result in self._reported.get((stream, name[0]), ())}
        for result in gone:
            for stream, name in enumerate(result.ids):
                self._reported[stream, name].discard(result)
        for stream, name in self._invalid:
            self._reported.pop((stream, name[0]), None)
        self._invalid.clear()
        self.counts.withdrawn += len(gone)
        return sorted((result._replace(sign=-1) for result in gone), key=lambda one: (one.ts, one.ids))

    def _report(self, results: Iterable[Result]) -> list[Result]:
        """Note results by their parts where they may have to be withdrawn; what is restored is gone already."""
        found = list(results)
        if self.join.is_strict:
            for result in (one for one in found if not one.restored):
                for stream, name in enumerate(result.ids):
                    self._reported[stream, name].add(result)
        return found


def by_key(records: Iterable[Record]) -> dict[Any, list[Record]]:
    """Group new tuples by hashing their keys.

    >>> [len(group) for group in by_key([Record((1,), ("x",), 1), Record((2,), ("x",), 2)]).values()]
    [2]
    """
    groups: dict[Any, list[Record]] = defaultdict(list)
    for record in records:
        groups[record.values[0]].append(record)
    return groups


def by_sorted_key(records: Iterable[Record]) -> dict[Any, list[Record]]:
    """Group new tuples by sorting them on their keys: the same groups, in the order of the keys."""
    return by_key(sorted(records, key=lambda record: record.values[0]))
