"""Window joins of vectors and at random, and how their results are written."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

from tidewheel.queries.literature.joins.playing import Player, play_by_run
from tidewheel.queries.literature.joins.window_join import Arrival, Result, WindowJoin, arrival, time_windows

VECTORS = Path(__file__).parents[2] / "literature" / "vectors" / "window_joins.json"


def vector(name: str) -> dict[str, Any]:
    """Return the vector that begins with the name: W1, W2, ..."""
    found = json.loads(VECTORS.read_text(encoding="utf-8"))["vectors"]
    [one] = [one for one in found if one["name"].startswith(f"{name}:")]
    return dict(one)


def join_of(one: dict[str, Any], **settings: Any) -> WindowJoin:
    return time_windows(*one["windows"], layout=one.get("layout", ""), **settings)


def arrivals_of(one: dict[str, Any]) -> list[Arrival]:
    found = []
    for stream, tuples in enumerate(one["streams"]):
        for name, ts, key, *end in tuples:
            exp = end[0] if end else ts + one["windows"][stream]
            found.append(arrival(stream, name, ts, key, exp))
    return sorted(found, key=lambda one: (one.record.ts, one.stream))


def word(result: Result) -> str:
    """Return a result as its tuples' names; a star marks one that was dead when reported."""
    return "".join(result.ids) + "*" * result.restored


def words(results: Iterable[Result]) -> list[str]:
    return sorted(map(word, results))


def by_run(engine: Player, arrivals: Iterable[Arrival], runs: Iterable[float]) -> dict[str, list[Result]]:
    """Return the results since the run before, of each run."""
    return {str(now): results for now, results in play_by_run(engine, arrivals, runs)}


def random_arrivals(chance: Random, join: WindowJoin, ticks: int, keys: int, *, variable: bool) -> list[Arrival]:
    """Return tuples of all streams, of the windows' lifetimes or of shorter ones of their own."""
    found = []
    for tick in range(1, ticks + 1):
        for stream, window in enumerate(join.windows):
            if chance.random() < 0.5:
                length = int(window.length or 0)
                life = chance.randint(1, length) if variable else length
                found.append(arrival(stream, f"{stream}.{tick}", tick, chance.randrange(keys), tick + life))
    return found
