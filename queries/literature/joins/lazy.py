"""Algorithm 4, Lazy Multi-Way Join without restore: every Δ, one probe for all new tuples of a key.

Golab, Waterloo 2006, chapter 5 (`LazyComputeJoin`). Streams are taken in the global order, each stored before it
probes: windows before it hold their new tuples already, those after it do not yet, so every result comes once.
(Storing all streams first would give results of two new tuples twice.) At its end a run purges *ahead*: what is dead
at the next run can be in no result that is alive then, so no end is tested while joining.

Departs from the listing: a new tuple that is dead at NOW is not stored (the listing forgets lives shorter than Δ), and
a slide longer than a window is refused unless `loses` allows it, as most results would be lost. With negative tuples
nothing is purged ahead; they remove their tuple at once.

Reports exactly the results that are alive at NOW. Cost: a probe per key and run. Space between runs: Σ λ(T - Δ).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tidewheel.queries.literature.joins.lazy_engine import LazyEngine, by_key
from tidewheel.queries.literature.joins.probing import probe
from tidewheel.queries.literature.joins.window_join import Result, WindowJoin
from tidewheel.queries.literature.state.records import Record
from tidewheel.queries.statements.legality import Illegal

Grouping = Callable[[Iterable[Record]], dict[Any, list[Record]]]


class Lazy(LazyEngine):
    name = "lazy"

    def __init__(
        self, join: WindowJoin, slide: float, first: float = 0, *, loses: bool = False, grouped: Grouping = by_key
    ) -> None:
        super().__init__(join, slide, first)
        self._grouped = grouped
        self.purged_through = first
        short = [place for place, one in enumerate(join.windows) if one.length is not None and slide > one.length]
        if short and not loses:
            raise Illegal(
                f"slide {slide} exceeds window {join.windows[short[0]].length} of stream {short[0] + 1}: "
                "results would be lost wholesale; shorten slide or use restore"
            )

    def run(self, now: float) -> list[Result]:
        self._begin(now)
        if now < self.purged_through:
            raise Illegal(
                f"a run at {now}: what dies by {self.purged_through} was purged already",
                f"the next run is that of {self.purged_through}",
            )
        found = self._withdraw()
        if now > self.purged_through or self.join.is_strict:
            self._purge_all(now)
        for stream in self.join.probing:
            found += self._report(self._join_new(stream, now))
        self._note_size()
        if not self.join.is_strict:
            self.purged_through = now + self.slide
            self._purge_all(self.purged_through)
        self.previous = now
        return found

    def _join_new(self, stream: int, now: float) -> list[Result]:
        came = [record for record in self._take_pending(stream, now) if self.alive(now, record.exp)]
        for record in came:
            self._insert(stream, record)
        found = []
        for key, group in self._grouped(came).items():
            stacks = probe(self._probed[stream], key, self.counts)
            found += [self._result(stream, record, stack) for stack in stacks for record in group]
        return found

    def _purge_all(self, moment: float) -> None:
        for window in range(len(self.windows)):
            self._purge(window, moment)
