"""Window joins at random: all algorithms against every combination of tuples tried, in both conventions.

P1 to P7 of the literature's properties; a case prints its seed.
"""

from __future__ import annotations

import os
from collections import Counter
from random import Random
from typing import Any

import pytest

from tests.support.models.printed_joins import FirstFix, Printed, Unguarded
from tests.support.models.window_joins import by_run, random_arrivals, words
from tidewheel.queries.literature.joins.count_windows import CountWindows
from tidewheel.queries.literature.joins.eager import Eager
from tidewheel.queries.literature.joins.eager_lazy_expiration import EagerLazyExpiration
from tidewheel.queries.literature.joins.index_output import IndexedJoin
from tidewheel.queries.literature.joins.lazy import Lazy
from tidewheel.queries.literature.joins.lazy_engine import LazyEngine, by_sorted_key
from tidewheel.queries.literature.joins.lazy_naive import LazyNaive
from tidewheel.queries.literature.joins.lazy_restore import LazyRestore
from tidewheel.queries.literature.joins.oracle import all_results, live, not_restored, restored
from tidewheel.queries.literature.joins.playing import play, play_by_run
from tidewheel.queries.literature.joins.window_join import Arrival, JoinWindow, Result, WindowJoin, arrival

TICKS = 16


class Case:
    """One random join and its stream."""

    def __init__(self, seed: int, *, long_slides: bool = False) -> None:
        chance = Random(seed)
        self.variable = chance.random() < 0.5
        count = chance.choice((2, 2, 2, 3, 3, 4))
        lengths = [chance.randint(2, 10) for _ in range(count)]
        self.slide = chance.randint(1, 12 if long_slides else min(5, *lengths))
        self.first_purge = chance.randint(1, 6)
        self.join = WindowJoin(
            tuple(JoinWindow(length) for length in lengths),
            order=tuple(chance.sample(range(count), count)),
            buckets=chance.choice((1, 1, 2, 3, 7, None)),
            closed=chance.random() < 0.5,
            layout=chance.choice(("calendar", "list") if self.variable else ("fifo", "calendar", "list")),
            days=chance.choice((1, 3, 10)),
        )
        self.arrivals = random_arrivals(chance, self.join, TICKS, chance.choice((1, 2, 4)), variable=self.variable)
        self.runs = list(range(self.slide, TICKS + self.slide + 1, self.slide))
        self.everything = all_results(self.join, self.arrivals)

    def previous(self, now: int) -> int:
        return now - self.slide


def _deviations(case: Case) -> list[str]:
    """Return the names of the algorithms that differ from the judge."""
    found = [
        engine.name
        for engine in (Eager(case.join), EagerLazyExpiration(case.join, case.first_purge))
        if Counter(one for _, results in play(engine, case.arrivals) for one in results) != Counter(case.everything)
    ]
    lazy: list[tuple[LazyEngine, Any]] = [
        (Lazy(case.join, case.slide, loses=True), not_restored),
        (Lazy(case.join, case.slide, loses=True, grouped=by_sorted_key), not_restored),
        (LazyNaive(case.join, case.slide), not_restored),
        (LazyRestore(case.join, case.slide), restored),
    ]
    for engine, wanted in lazy:
        runs = by_run(engine, case.arrivals, case.runs)
        expected = {now: Counter(wanted(case.join, case.everything, case.previous(now), now)) for now in case.runs}
        if any(Counter(runs[str(now)]) != expected[now] for now in case.runs):
            found.append(engine.name)
    return found


def _check(seeds: range, **settings: bool) -> None:
    wrong = {seed: names for seed in seeds if (names := _deviations(Case(seed, **settings)))}
    assert wrong == {}


def test_all_algorithms_are_every_combination_tried() -> None:
    """P1 to P5: the same results, whatever the order, the buckets and the layout, and each once."""
    _check(range(int(os.environ.get("TIDEWHEEL_JOINS", "300"))))


def test_slides_longer_than_windows() -> None:
    _check(range(5000, 5060), long_slides=True)


@pytest.mark.nightly
def test_all_algorithms_in_thousands_of_cases() -> None:
    _check(range(10_000, 11_500))
    _check(range(20_000, 21_500), long_slides=True)


def test_the_listings_as_printed_are_wrong() -> None:
    """Counts cases in which a printed listing differs: the corrections are needed."""
    wrong: Counter[str] = Counter()
    for seed in range(60):
        case = Case(seed, long_slides=True)
        for engine, wanted in (
            (Printed(case.join, case.slide), restored),
            (FirstFix(case.join, case.slide), restored),
            (Unguarded(case.join, case.slide, loses=True), not_restored),
        ):
            if case.join.layout == "calendar" and isinstance(engine, Unguarded):
                continue  # a calendar queue refuses the dead
            runs = by_run(engine, case.arrivals, case.runs)
            wrong[type(engine).__name__] += any(
                words(runs[str(now)]) != words(wanted(case.join, case.everything, case.previous(now), now))
                for now in case.runs
            )
    assert wrong["Printed"] > wrong["FirstFix"] > 0 < wrong["Unguarded"]


def test_closed_is_half_open_one_tick_later() -> None:
    for seed in range(40):
        case = Case(seed)
        later = [Arrival(one.stream, one.record._replace(exp=one.record.exp + 1)) for one in case.arrivals]
        closed = WindowJoin(case.join.windows, closed=True)
        open_ended = WindowJoin(case.join.windows)
        assert [one.ids for one in all_results(closed, case.arrivals)] == [
            one.ids for one in all_results(open_ended, later)
        ]


def test_lives_are_at_most_the_shortest_window() -> None:
    """P6, half-open: at least a tick, at most the shortest window."""
    for seed in range(40):
        case = Case(seed)
        lives = {one.exp - one.ts for one in case.everything}
        assert lives <= set(range(0 if case.join.closed else 1, min(int(w.length or 0) for w in case.join.windows) + 1))


def test_the_index_holds_the_live_results_with_restore_and_without() -> None:
    """P4b: also that an update touches no more than a row and a column."""
    for seed in range(60):
        case = Case(seed)
        join = WindowJoin(case.join.windows, layout=case.join.layout)
        rows, columns = Random(seed).choice(((1, 1), (2, 2), (2, 3), (3, 1)))
        lazy, eager = Lazy(join, case.slide), LazyRestore(join, case.slide)
        ways = [(engine, IndexedJoin(join, case.slide, rows, columns)) for engine in (lazy, eager)]
        contents, everything = [], all_results(join, case.arrivals)
        for engine, index in ways:
            for now, results in play_by_run(engine, case.arrivals, case.runs):
                index.update(int(now), results)
                assert index.touched_last <= rows + columns - 1
                assert Counter(index.content()) == Counter(live(join, everything, now))
            contents.append(Counter(index.content()))
        assert contents[0] == contents[1]
        assert len(ways[1][1].log) == len(everything)


def _count_history(seed: int) -> tuple[WindowJoin, list[Arrival]]:
    chance = Random(seed)
    count = chance.choice((2, 2, 3))
    join = WindowJoin(tuple(JoinWindow(rows=chance.randint(1, 4)) for _ in range(count)), buckets=chance.choice((1, 3)))
    events = [
        arrival(chance.randrange(count), f"t{number}", number, chance.randrange(chance.choice((1, 2, 3))))
        for number in range(1, 30)
    ]
    return join, events


def _stamped(join: WindowJoin, events: list[Arrival]) -> list[Arrival]:
    """Return the tuples with the ends that count windows turned out to give them."""
    found = []
    for place, (stream, record) in enumerate(events):
        later = [other.record.ts for other in events[place + 1 :] if other.stream == stream]
        rows = join.windows[stream].rows or 0
        found.append(Arrival(stream, record._replace(exp=later[rows - 1] if len(later) >= rows else float("inf"))))
    return found


def _standing(results: list[Result]) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for one in results:
        if not one.restored:
            found[one.ids] += one.sign
    return +found


def test_count_windows_at_random() -> None:
    """Every engine's standing results are those of the windows; restore reports all that ever were."""
    for seed in range(100):
        join, events = _count_history(seed)
        everything = all_results(join, _stamped(join, events))
        slide = 1 + seed % 5
        for engine in (Eager(join), Lazy(join, slide), LazyNaive(join, slide), LazyRestore(join, slide)):
            found: list[Result] = []
            for now, results in play_by_run(CountWindows(engine), events, range(slide, 31, slide)):
                found += results
                alive = Counter(one.ids for one in live(join, everything, now))
                assert _standing(found) == alive, (seed, engine.name, now)
            if isinstance(engine, Eager | LazyRestore):
                until = 30 // slide * slide
                born = Counter(one.ids for one in everything if one.ts <= until)
                assert Counter(one.ids for one in found if one.sign > 0) == born, seed
