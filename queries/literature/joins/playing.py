"""An algorithm played over a stream: arrivals one by one, and a run after all that came by its moment."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Protocol

from tidewheel.queries.literature.joins.window_join import Arrival, Result
from tidewheel.queries.literature.state.records import Record


class Player(Protocol):
    def arrive(self, stream: int, record: Record) -> list[Result]: ...

    def run(self, now: float) -> list[Result]: ...


def play(engine: Player, arrivals: Iterable[Arrival]) -> Iterator[tuple[float, list[Result]]]:
    """Give the results of each arrival, with its moment."""
    for stream, record in arrivals:
        yield record.ts, engine.arrive(stream, record)


def play_by_run(
    engine: Player, arrivals: Iterable[Arrival], runs: Iterable[float]
) -> Iterator[tuple[float, list[Result]]]:
    """Give the results since the run before, of each run: it comes after all that came by its moment."""
    waiting = deque(arrivals)
    for now in runs:
        found: list[Result] = []
        while waiting and waiting[0].record.ts <= now:
            found += engine.arrive(*waiting.popleft())
        yield now, found + engine.run(now)
