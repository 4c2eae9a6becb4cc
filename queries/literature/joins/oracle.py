"""The judge of window joins: every combination of tuples, tried.

ALL holds each combination of one tuple per stream with equal keys that is alive at its own birth: the greatest ts
before the least end. Each algorithm's output is a selection of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

from tidewheel.queries.literature.joins.liveness import alive
from tidewheel.queries.literature.joins.window_join import Arrival, Result, WindowJoin
from tidewheel.queries.literature.state.records import Record


def all_results(join: WindowJoin, arrivals: Iterable[Arrival]) -> list[Result]:
    """Return ALL, by birth."""
    by_key: dict[Any, list[list[Record]]] = defaultdict(lambda: [[] for _ in join.windows])
    for stream, record in arrivals:
        if record.values[0] is not None:
            by_key[record.values[0]][stream].append(record)
    lives = alive(join.closed)
    found = [_result(join, parts) for streams in by_key.values() for parts in product(*streams)]
    return sorted((one for one in found if lives(one.ts, one.exp)), key=lambda one: (one.ts, one.ids))


def _result(join: WindowJoin, parts: Sequence[Record]) -> Result:
    outer = [part.exp for part, window in zip(parts, join.windows, strict=True) if not window.internal]
    return Result(
        tuple(part.id[0] for part in parts),
        max(part.ts for part in parts),
        min(part.exp for part in parts),
        min(outer, default=float("inf")),
    )


def restored(join: WindowJoin, results: Iterable[Result], previous: float, now: float) -> list[Result]:
    """Return what a run with restore reports of ALL: what came since the last run, the dead marked."""
    lives = alive(join.closed)
    return [one._replace(restored=not lives(now, one.exp)) for one in results if previous < one.ts <= now]


def not_restored(join: WindowJoin, results: Iterable[Result], previous: float, now: float) -> list[Result]:
    """Return what a run without restore reports of ALL."""
    return [one for one in restored(join, results, previous, now) if not one.restored]


def live(join: WindowJoin, results: Iterable[Result], now: float) -> list[Result]:
    """Return the one-time join of the windows at a moment (Definition 2.1)."""
    lives = alive(join.closed)
    return [one for one in results if one.ts <= now and lives(now, one.exp)]
