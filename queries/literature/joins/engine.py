"""The common part of all algorithms: windows, their order, counts, and how a result is put together of its parts.

An engine is given arrivals in the order of time (`arrive`), runs now and then (`run`), and may be told that a tuple
ended early (`retract`). Each gives the results that it causes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from tidewheel.queries.literature.joins.counts import Counts
from tidewheel.queries.literature.joins.held_window import HeldWindow
from tidewheel.queries.literature.joins.liveness import alive, last_end
from tidewheel.queries.literature.joins.probing import Stack
from tidewheel.queries.literature.joins.window_join import Result, WindowJoin
from tidewheel.queries.literature.state.records import FOREVER, Record
from tidewheel.queries.statements.legality import Illegal


class JoinEngine(ABC):
    name: ClassVar[str]

    def __init__(self, join: WindowJoin) -> None:
        self.join, self.counts = join, Counts()
        self.alive = alive(join.closed)
        self.windows = [HeldWindow(join) for _ in join.windows]
        self._probed = [[self.windows[other] for other in join.others(place)] for place in range(len(join.windows))]
        self._arranged = [_arranged(join, place) for place in range(len(join.windows))]
        outer = [place for place, window in enumerate(join.windows) if not window.internal]
        self._outer = outer if len(outer) < len(join.windows) else None
        self._ids: list[set[tuple[object, ...]]] = [set() for _ in join.windows]
        self._clock: float | None = None

    @abstractmethod
    def arrive(self, stream: int, record: Record) -> list[Result]:
        """Take a tuple; return the results that come at once."""

    def run(self, now: float) -> list[Result]:
        """Do what is done now and then; return the results that come with it."""
        return []

    def retract(self, stream: int, record: Record, at: float) -> list[Result]:
        """Take a negative tuple: the record has ended at a moment that its `exp` did not say."""
        raise Illegal(
            f"Direct expiration impossible: input of {self.name} is STR (count window / negation at stream "
            f"{stream + 1}); use negative-tuple mode."
        )

    def state(self) -> tuple[tuple[Record, ...], ...]:
        """Return the tuples that are held, window by window."""
        return tuple(tuple(window) for window in self.windows)

    def _is_taken(self, stream: int, record: Record) -> bool:
        """Check an arrival. A tuple without a key matches nothing: it is counted and dropped."""
        if record.exp <= record.ts:
            raise Illegal("exp <= ts", f"the tuple's ts is {record.ts}, its exp {record.exp}")
        if self._clock is not None and record.ts < self._clock:
            raise Illegal(f"Tuple ts={record.ts} not after watermark τ_k={self._clock} (late data)")
        if record.id in self._ids[stream]:
            raise Illegal(f"Stream {stream + 1} brings {record.id[0]} a second time", "ids are used once in a stream")
        self._clock = record.ts
        if record.values[0] is None:
            self.counts.without_key += 1
            return False
        self._ids[stream].add(record.id)
        return True

    def _insert(self, stream: int, record: Record) -> None:
        self.windows[stream].insert(record)
        self.counts.inserted += 1

    def _purge(self, window: int, moment: float) -> None:
        """Remove what is dead at the moment from a window."""
        gone = self.windows[window].expire(last_end(moment, self.join.closed))
        self.counts.expired += len(gone)
        self._ids[window].difference_update(record.id for record in gone)

    def _note_size(self) -> None:
        self.counts.held_max = max(self.counts.held_max, sum(map(len, self.windows)))

    def _result(self, stream: int, record: Record, stack: Stack, sign: int = 1) -> Result:
        """Return a result: it comes with its last part and ends with its first."""
        found = (record, *stack)
        parts = [found[place] for place in self._arranged[stream]]
        end = out = min([part.exp for part in parts])
        if self._outer is not None:
            out = min([parts[place].exp for place in self._outer], default=FOREVER)
        self.counts.results += 1
        return Result(tuple([part.id[0] for part in parts]), max([part.ts for part in parts]), end, out, False, sign)


def _arranged(join: WindowJoin, stream: int) -> list[int]:
    """Return where each input's part is found among a new tuple and its partners."""
    found = (stream, *join.others(stream))
    return [found.index(place) for place in range(len(join.windows))]
