"""Window joins: the vectors of the literature, results and operation counts, and what is refused."""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.models.printed_joins import AllFirst, FirstFix, Printed, Unguarded
from tests.support.models.window_joins import arrivals_of, by_run, join_of, vector, word, words
from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.joins.count_windows import CountWindows
from tidewheel.queries.literature.joins.eager import Eager
from tidewheel.queries.literature.joins.eager_lazy_expiration import EagerLazyExpiration
from tidewheel.queries.literature.joins.engine import JoinEngine
from tidewheel.queries.literature.joins.index_output import IndexedJoin
from tidewheel.queries.literature.joins.lazy import Lazy
from tidewheel.queries.literature.joins.lazy_naive import LazyNaive
from tidewheel.queries.literature.joins.lazy_restore import LazyRestore
from tidewheel.queries.literature.joins.oracle import all_results, live
from tidewheel.queries.literature.joins.playing import play, play_by_run
from tidewheel.queries.literature.joins.window_join import JoinWindow, Result, WindowJoin, arrival, time_windows
from tidewheel.queries.statements.legality import Illegal, check
from tidewheel.queries.statements.plan import Join, window
from tidewheel.queries.statements.statement import Output, Statement

CASES = [
    pytest.param(name, convention, id=f"{name} {convention}")
    for name in ("W1", "W2", "W3", "W4")
    for convention in ("half_open", "closed")
    if convention in vector(name)
]


def _lazy(join: WindowJoin, one: dict[str, Any]) -> dict[str, JoinEngine]:
    """Return the engines of the vector that run now and then."""
    loses = bool(one.get("loses"))
    return {
        "lazy": Lazy(join, one["slide"], loses=loses),
        "lazy_naive": LazyNaive(join, one["slide"]),
        "lazyR": LazyRestore(join, one["slide"]),
        "printed": Printed(join, one["slide"]),
        "first_fix": FirstFix(join, one["slide"]),
        "unguarded": Unguarded(join, one["slide"], loses=loses),
        "all_first": AllFirst(join, one["slide"], loses=loses),
    }


@pytest.mark.parametrize(("name", "convention"), CASES)
def test_results(name: str, convention: str) -> None:
    one = vector(name)
    join, expected = join_of(one, closed=convention == "closed"), one[convention]
    everything = all_results(join, arrivals_of(one))
    assert sorted([result.ts, word(result), result.exp] for result in everything) == sorted(expected["eager"])
    for eager in (Eager(join), EagerLazyExpiration(join, 3)):
        found = [(ts, result) for ts, results in play(eager, arrivals_of(one)) for result in results]
        assert sorted([ts, word(result), result.exp] for ts, result in found) == sorted(expected["eager"])
    for way, engine in _lazy(join, one).items():
        runs = by_run(engine, arrivals_of(one), one["runs"])
        for now, written in expected.get("lazy" if way == "lazy_naive" else way, {}).items():
            stars = way not in ("unguarded", "all_first")
            assert words(runs[now]) == sorted(written.split() if stars else written.replace("*", "").split()), way
    for now, written in expected.get("live", {}).items():
        assert words(live(join, everything, int(now))) == sorted(written.split())
    if "life_max" in expected:
        assert max(result.exp - result.ts for result in everything) == expected["life_max"]


@pytest.mark.parametrize("convention", ["half_open", "closed"])
def test_comparisons_and_state_of_w1(convention: str) -> None:
    one = vector("W1")
    join, expected = join_of(one, closed=convention == "closed"), one[convention]
    engines: list[JoinEngine] = [Eager(join), EagerLazyExpiration(join, 3)]
    for engine in engines:
        list(play(engine, arrivals_of(one)))
        assert engine.counts.comparisons == expected["comparisons"][engine.name]
    for engine in (Lazy(join, 5), LazyRestore(join, 5)):
        for now, _ in play_by_run(engine, arrivals_of(one), one["runs"]):
            held = [" ".join(sorted(record.id[0] for record in window)) for window in engine.state()]
            assert held == expected[f"state_{engine.name}"][str(now)], (engine.name, now)
        assert engine.counts.comparisons == expected["comparisons"][engine.name]


def test_ends_are_tested_where_an_algorithm_says_so() -> None:
    """Algorithm 3 tests each tuple that it visits, Algorithm 5 each result as well, the others none."""
    one = vector("W1")
    join, tests = join_of(one), {}
    for engine in (
        Eager(join),
        EagerLazyExpiration(join, 100),
        Lazy(join, 5),
        LazyNaive(join, 5),
        LazyRestore(join, 5),
    ):
        list(play_by_run(engine, arrivals_of(one), one["runs"]))
        tests[engine.name] = engine.counts.timestamp_tests
    assert tests == {"eager": 0, "eager_lazyexp": 12, "lazy": 0, "lazy_naive": 0, "lazyR": 17}


def test_each_probe_of_w1_sees_the_other_window() -> None:
    one = vector("W1")
    engine, seen = Eager(join_of(one)), []
    for stream, record in arrivals_of(one):
        engine.arrive(stream, record)
        seen.append([record.id[0], " ".join(sorted(other.id[0] for other in engine.state()[1 - stream]))])
    assert seen[1:] == one["half_open"]["probes"]


def _signed(results: list[Result]) -> list[str]:
    return sorted(("-" if result.sign < 0 else "+") + word(result) for result in results)


@pytest.mark.parametrize("way", ["eager", "lazy", "lazy_naive", "lazyR"])
def test_count_windows(way: str) -> None:
    one = vector("W5")
    join = WindowJoin(tuple(JoinWindow(rows=rows) for rows in one["rows"]))
    makers: dict[str, Callable[[], JoinEngine]] = {
        "eager": lambda: Eager(join),
        "lazy": lambda: Lazy(join, one["slide"]),
        "lazy_naive": lambda: LazyNaive(join, one["slide"]),
        "lazyR": lambda: LazyRestore(join, one["slide"]),
    }
    engine = makers[way]()
    events = [arrival(stream, name, at, key) for stream, name, at, key in one["events"]]
    found = {
        str(now): results
        for now, results in play_by_run(CountWindows(engine), events, range(1, 7) if way == "eager" else one["runs"])
        if results
    }
    assert {now: _signed(results) for now, results in found.items()} == {
        now: sorted(written.split()) for now, written in one[way].items()
    }
    assert engine.counts.withdrawn == sum(written.count("-") for written in one[way].values())
    standing: set[tuple[Any, ...]] = set()
    for results in found.values():
        for result in results:
            if not result.restored:
                (standing.add if result.sign > 0 else standing.remove)(result.ids)
            else:
                assert [result.ts, result.exp] == one["restored"]["".join(result.ids)]
    assert sorted("".join(ids) for ids in standing) == one["live_at_end"].split()


def test_internal_windows_keep_results_and_not_state() -> None:
    one = vector("W8")
    for internal, expected in zip(one["internal"], one["results"], strict=True):
        windows = tuple(JoinWindow(length, internal=i) for length, i in zip(one["windows"], internal, strict=True))
        join = WindowJoin(windows)
        engine = Eager(join)
        found = [result for _, results in play(engine, arrivals_of(one)) for result in results]
        written = [[word(one), one.ts, None if one.out == math.inf else one.out] for one in found]
        assert written == expected
        assert [one.out for one in all_results(join, arrivals_of(one))] == [one.out for one in found]
        engine.run(40)
        assert engine.state() == ((), ())


# W7: what is refused, by the name of its case.

TWO = time_windows(10, 10)
BY_K = (("A.k", "B.k"),)


def _late() -> None:
    engine = Lazy(TWO, 5)
    engine.run(5)
    engine.arrive(0, arrival(0, "a1", 5, "x", 15).record)


def _early_run() -> None:
    engine = Lazy(TWO, 5)
    engine.run(5)
    engine.run(7.5)


def _out_of_order() -> None:
    engine = Eager(TWO)
    for name, ts in (("a1", 5), ("a2", 4)):
        engine.arrive(0, arrival(0, name, ts, "x", 9).record)


def _twice() -> None:
    engine = Eager(TWO)
    for _ in range(2):
        engine.arrive(0, arrival(0, "a1", 1, "x", 11).record)


def _restored_output_window() -> None:
    join = Join(window("A", 10, "k"), window("B", 10, "k"), BY_K)
    check(Statement(join, Output.WSTREAM, restore=True, rows=10))


def _slides() -> None:
    check(Statement(Join(window("A", 10, "k", slide=5), window("B", 10, "k", slide=2), BY_K)))


REFUSED: dict[str, Callable[[], Any]] = {
    "no-restore with a slide longer than a window": lambda: Lazy(time_windows(10, 4), 5),
    "a run before what was purged ahead": _early_run,
    "a late tuple": _late,
    "a dead tuple": lambda: Eager(TWO).arrive(0, arrival(0, "a1", 3, "x", 3).record),
    "Algorithm 3 on a count window": lambda: EagerLazyExpiration(
        WindowJoin((JoinWindow(rows=2), JoinWindow(length=5))), 3
    ),
    "an index of a count window": lambda: IndexedJoin(WindowJoin((JoinWindow(rows=2), JoinWindow(length=5))), 5, 1, 1),
    "an id twice": _twice,
    "no permutation": lambda: time_windows(10, 10, order=(0, 0)),
    "one stream": lambda: time_windows(10),
    "restore and an output window": _restored_output_window,
    "slides that differ": _slides,
}
ACCEPTED = {"an early tuple", "a NULL key"}


@pytest.mark.parametrize(("name", "text"), [one for one in vector("W7")["cases"] if one[0] not in ACCEPTED])
def test_refusals(name: str, text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        REFUSED[name]()
    assert caught.value.message.startswith(text)


def test_an_early_tuple_waits_and_a_null_key_is_dropped() -> None:
    assert {name for name, _ in vector("W7")["cases"]} > ACCEPTED
    engine = Lazy(TWO, 5)
    for stream, name, ts, key in ((0, "a1", 1, "x"), (1, "b1", 2, None), (1, "b2", 7, "x")):
        engine.arrive(stream, arrival(stream, name, ts, key, ts + 10).record)
    assert engine.run(5) == []
    assert words(engine.run(10)) == ["a1b2"]
    assert (engine.counts.without_key, engine.counts.inserted) == (1, 2)


def test_a_count_window_needs_lists_and_negatives() -> None:
    with pytest.raises(InvalidInput, match="told by negative tuples"):
        WindowJoin((JoinWindow(rows=2), JoinWindow(length=5)), layout="fifo")
    with pytest.raises(Illegal, match="use negative-tuple mode"):
        EagerLazyExpiration(TWO, 3).retract(0, arrival(0, "a1", 1, "x").record, 2)


@pytest.mark.parametrize(
    "make",
    [
        JoinWindow,
        lambda: JoinWindow(length=5, rows=5),
        lambda: JoinWindow(length=0),
        lambda: time_windows(5, 5, buckets=0),
        lambda: time_windows(5, 5, layout="tree"),
        lambda: Lazy(TWO, 0),
        lambda: EagerLazyExpiration(TWO, 0),
        lambda: LazyRestore(TWO, 5).run(0),
        _out_of_order,
    ],
)
def test_what_is_no_join(make: Callable[[], Any]) -> None:
    with pytest.raises(InvalidInput):
        make()


ALGORITHMS = (
    "eager eager_lazy_expiration lazy_naive lazy lazy_restore probing count_windows generated_arrivals set_oriented"
    " index_output"
)


@pytest.mark.parametrize("name", ALGORITHMS.split())
def test_each_file_says_where_it_departs_from_what_was_printed(name: str) -> None:
    text = importlib.import_module(f"tidewheel.queries.literature.joins.{name}").__doc__ or ""
    assert len(re.findall(r"^(?:Departs from|Follows|No listing is printed).+", text, re.MULTILINE)) == 1


def test_a_fifo_queue_refuses_lives_that_differ() -> None:
    one = vector("W4") | {"layout": "fifo"}
    with pytest.raises(InvalidInput, match="equal lifetimes only"):
        list(play(Eager(join_of(one)), arrivals_of(one)))
