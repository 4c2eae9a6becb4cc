"""An algorithm played over a stream: arrivals one by one, and a run after all that came by its moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from tidewheel.queries.literature.joins.window_join import Arrival, Result
from tidewheel.queries.literature.state.records import Record


class Player(Protocol):
    def arrive(self, stream: int, record: Record) -> list[Result]: ...

    def run(self, now: float) -> list[Result]: ...


def play(
    engine: Player, arrivals: Iterable[Arrival], runs: Iterable[float] = ()
) -> Iterator[tuple[float, list[Result]]]:
    """Give the results of each arrival and each run, with the moment."""
    due = iter(runs)
    following = next(due, None)
    for stream, record in arrivals:
        while following is not None and following < record.ts:
            yield following, engine.run(following)
            following = next(due, None)
        yield record.ts, engine.arrive(stream, record)
    while following is not None:
        yield following, engine.run(following)
        following = next(due, None)
