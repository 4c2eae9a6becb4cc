"""The algorithms of window joins, as `tidewheel derive trace` plays them.

`lazy(10)` has hash tables of 10 buckets; a name alone has nested loops. The slide of the lazy ones, and of the lazy
expiration of `eager_lazyexp`, is the time from one run to the next. An answer of a run holds the live results; what a
run reports late is counted as restored, and what it never reports as lost.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.joins.count_windows import CountWindows
from tidewheel.queries.literature.joins.eager import Eager
from tidewheel.queries.literature.joins.eager_lazy_expiration import EagerLazyExpiration
from tidewheel.queries.literature.joins.engine import JoinEngine
from tidewheel.queries.literature.joins.lazy import Lazy
from tidewheel.queries.literature.joins.lazy_naive import LazyNaive
from tidewheel.queries.literature.joins.lazy_restore import LazyRestore
from tidewheel.queries.literature.joins.liveness import alive
from tidewheel.queries.literature.joins.planned_join import PlannedJoin, planned_join
from tidewheel.queries.literature.joins.playing import Player, play, play_by_run
from tidewheel.queries.literature.joins.window_join import Result, WindowJoin
from tidewheel.queries.literature.trace import Answer, Played, Trace

MakeJoin = Callable[[WindowJoin, int], JoinEngine]  # of a join and the time from one run to the next
_MAKERS: dict[str, MakeJoin] = {
    "eager": lambda join, slide: Eager(join),
    "eager_lazyexp": EagerLazyExpiration,
    "lazy_naive": LazyNaive,
    "lazy": Lazy,
    "lazyR": LazyRestore,
}
_NAME = re.compile(r"(\w+)(?:\((\d+)\))?")


@cache
def engine_named(name: str) -> MakeJoin:
    """Return how an engine is made: `lazy`, or `lazy(10)` with 10 hash buckets."""
    found = _NAME.fullmatch(name)
    if found is None or found[1] not in _MAKERS:
        raise InvalidInput(f"no window join is named {name}", f"there are {', '.join(_MAKERS)}, and lazy(10)")
    make, buckets = _MAKERS[found[1]], int(found[2] or 1)
    return lambda join, every: make(replace(join, buckets=buckets), every)


class Joins:
    names: tuple[str, ...] = tuple(_MAKERS)

    def knows(self, name: str) -> bool:
        found = _NAME.fullmatch(name)
        return found is not None and found[1] in _MAKERS

    def trace(self, name: str, played: Played) -> Trace:
        planned = planned_join(played.plan)
        engine = engine_named(name)(planned.join, played.every)
        table = _Table(planned, played)
        table.play(engine)
        counts, touched = engine.counts, sum(window.steps.touched for window in engine.windows)
        operations = {
            "comparisons": counts.comparisons,
            "timestamp tests": counts.timestamp_tests,
            "touched": touched,
        }
        lost = 0 if name.startswith(("eager", "lazyR")) else table.born() - counts.results
        born = counts.results + lost
        return Trace(name, tuple(table.answers), operations, counts.held_max, born, lost, counts.restored)


class _Table:
    """The results that are there, as each run finds them."""

    def __init__(self, planned: PlannedJoin, played: Played) -> None:
        self._planned, self._played = planned, played
        self._arrivals = [one for one in planned.arrivals(played.history) if one.record.ts <= played.until]
        self.answers: list[Answer] = []

    def play(self, engine: JoinEngine) -> None:
        lives, standing = alive(engine.join.closed), Counter[Result]()
        for now, results in play_by_run(_with_evictions(engine), self._arrivals, self._played.runs):
            for one in results:
                standing[_lasting(one)] += one.sign
            standing = Counter({one: count for one, count in standing.items() if count and lives(now, one.out)})
            self.answers.append(Counter(self._values(one) for one in standing.elements()))

    def _values(self, result: Result) -> tuple[object, ...]:
        return tuple(value for place in result.ids for value in self._played.history.arrivals[place].values)

    def born(self) -> int:
        """Return how many results there were in all, as Algorithm 2 counts them."""
        engine = Eager(replace(self._planned.join, buckets=None))
        list(play(_with_evictions(engine), self._arrivals))
        return engine.counts.results


def _with_evictions(engine: JoinEngine) -> Player:
    return CountWindows(engine) if engine.join.is_strict else engine


def _lasting(one: Result) -> Result:
    """Return a result without the marks of its report, so that its negative finds it."""
    return one._replace(restored=False, sign=1)
