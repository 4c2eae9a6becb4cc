"""Synopses and sketches of windows and of window joins, against the literature's examples and brute force."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from math import ceil
from typing import Any

import pytest

from tests.support.models.planning import pages, vectors
from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.patterns.join_synopses.basic_interval_join import BasicIntervalJoin
from tidewheel.queries.literature.patterns.join_synopses.classes import Joined, class_of
from tidewheel.queries.literature.patterns.join_synopses.interval_join import IntervalJoin
from tidewheel.queries.literature.patterns.join_synopses.running_join import RunningJoin
from tidewheel.queries.literature.patterns.join_synopses.sharing import FORMS, JoinSynopsis, answers, together
from tidewheel.queries.literature.patterns.sketches.count_min import CountMin
from tidewheel.queries.literature.patterns.sketches.exponential_histogram import ExponentialHistogram
from tidewheel.queries.literature.patterns.sketches.flajolet_martin import FlajoletMartin
from tidewheel.queries.literature.synopses.synopsis import Basic, Intervals, Running, Synopsis
from tidewheel.queries.literature.synopses.values import COUNT, COUNTS, MAX, SUM, Kind
from tidewheel.queries.scheduling.covers import cover

ONE = pages("update_patterns/tv13_synopses.json")
JOINS = pages("join_synopses.json")


@pytest.mark.parametrize("vector", vectors("update_patterns/tv13_synopses.json"))
def test_synopses_of_one_window(vector: dict[str, Any]) -> None:
    b, k = ONE["slots"], vector["k"]
    for count, intervals in vector.get("covers", {}).items():
        assert sorted([end - width, end] for end, width in cover(k, int(count), b)) == intervals
    if "sums" not in vector:
        return
    running, largest, basic = Running(SUM, b), Intervals(MAX, b), Basic(MAX, b)
    for value in ONE["data"][:k]:
        for synopsis in (running, largest, basic):
            synopsis.update(value)
    assert [sum(ONE["data"][:at]) for at in range(k - b, k + 1)] == vector["totals"]
    assert (running.size, largest.size) == (b + 1, 2 * b - 1)
    assert {count: running.probe(int(count)) for count in vector["sums"]} == vector["sums"]
    for count, value, reads in vector["max"]:
        before = largest.reads
        assert (largest.probe(count), basic.probe(count), largest.reads - before) == (value, value, reads)


@pytest.mark.parametrize("b", [2, 4, 8, 16])
def test_n_of_n_every_smaller_window_is_answered(b: int) -> None:
    chance = random.Random(b)
    values = [chance.randrange(100) for _ in range(3 * b)]
    synopses: list[tuple[Synopsis, Callable[[list[int]], int]]]
    synopses = [(Running(SUM, b), sum), (Intervals(MAX, b), max), (Basic(MAX, b), max)]
    for at, value in enumerate(values, start=1):
        for synopsis, fold in synopses:
            synopsis.update(value)
            for n in range(1, min(at, b) + 1):
                assert synopsis.probe(n) == fold(values[at - n : at])


# Joins: results by slot of expiry.


class Pairs:
    """Two streams as slots and keys; the results that each slot brings, and any join from scratch."""

    def __init__(self, streams: list[list[tuple[int, Any]]], b: int, value: Any = lambda first, second: 1) -> None:
        self._streams, self._b, self._value = streams, b, value

    def _all(self) -> Iterable[Joined]:
        for first, key in self._streams[0]:
            for second, other in self._streams[1]:
                if key == other:
                    yield Joined(first, second, self._value(first, second))

    def new(self, version: int) -> list[Joined]:
        reaches = version - self._b
        return [one for one in self._all() if max(one[:2]) == version and min(one[:2]) >= reaches]

    def join(self, kind: Kind, version: int, first: int, second: int) -> Any:
        found = kind.empty()
        for one in self._all():
            if version - first < one.first <= version and version - second < one.second <= version:
                found = kind.merge(found, one.value)
        return found


def filled(form: type[JoinSynopsis], kind: Kind, pairs: Pairs, b: int, wide: int, version: int) -> JoinSynopsis:
    synopsis = form(kind, b, wide)
    for at in range(1, version + 1):
        synopsis.update(pairs.new(at))
    return synopsis


@pytest.mark.parametrize("vector", vectors("join_synopses.json"))
def test_slots_prefixes_and_answers(vector: dict[str, Any]) -> None:
    b = JOINS["slots"]
    pairs = Pairs([[(ceil(time), key) for time, key in stream] for stream in JOINS["streams"]], b)
    for version, slots, totals, counts in vector["rows"]:
        basic, running = BasicIntervalJoin(COUNT, b), RunningJoin(COUNT, b)
        for at in range(1, version + 1):
            basic.update(pairs.new(at))
            running.update(pairs.new(at))
        assert (basic.values, running.totals) == (slots, totals)
        for form in FORMS.values():
            synopsis = filled(form, COUNT, pairs, b, 0, version)
            assert [synopsis.probe(n, n) for n in range(1, b + 1)] == counts
    for version, rows in JOINS["unequal"].items():
        for form in FORMS.values():
            synopsis = filled(form, COUNT, pairs, b, JOINS["wide"], int(version))
            assert [[one, two, synopsis.probe(one, two)] for one, two, _ in rows] == rows
            with pytest.raises(InvalidInput, match="differ by g at most"):
                synopsis.probe(*JOINS["refused"])


def test_three_values_a_slot_do_not_place_this_pair() -> None:
    told = JOINS["defect"]
    first, second = told["pair"]
    pairs = Pairs([[(first, "k")], [(second, "k")]], told["slots"])
    assert class_of(Joined(first, second, 1), told["wide"]) == ("2", 1)
    for form in FORMS.values():
        synopsis = filled(form, COUNT, pairs, told["slots"], told["wide"], told["version"])
        assert [[one, two, synopsis.probe(one, two)] for one, two, _ in told["rows"]] == told["rows"]


@pytest.mark.parametrize(("b", "wide"), [(4, 0), (4, 3), (8, 2)])
def test_join_synopses_are_brute_force_at_every_version(b: int, wide: int) -> None:
    chance = random.Random(b + wide)
    streams = [[(chance.randint(1, 3 * b), chance.randrange(3)) for _ in range(3 * b)] for _ in range(2)]
    pairs = Pairs(streams, b, lambda first, second: 10 * first + second)
    forms = [(form, kind) for form in FORMS.values() for kind in (SUM, MAX) if kind is SUM or form is not RunningJoin]
    synopses = [(form(kind, b, wide), kind) for form, kind in forms]
    windows = [(one, two) for one in range(1, b + 1) for two in range(1, b + 1) if abs(one - two) <= wide]
    for version in range(1, 4 * b):
        for synopsis, kind in synopses:
            synopsis.update(pairs.new(version))
            queries = {str(pair): pair for pair in windows}
            true = {name: pairs.join(kind, version, *pair) for name, pair in queries.items()}
            assert answers(synopsis, queries) == true


def test_what_is_answered_together() -> None:
    asked = {"a": (3, 3), "b": (3, 3), "c": (4, 3), "d": (2, 3)}
    assert together(IntervalJoin(SUM, 4, 1), asked) == [["a", "b"], ["c"], ["d"]]
    scanned = BasicIntervalJoin(SUM, 4, 1)
    answers(scanned, asked)
    assert (scanned.reads, together(scanned, asked)) == (4, [list(asked)])
    probed = RunningJoin(SUM, 4)
    answers(probed, {"a": (3, 3), "b": (3, 3)})
    assert probed.reads == 2
    with pytest.raises(InvalidInput, match="counts cannot use a running join synopsis"):
        RunningJoin(COUNTS, 4)


# Sketches.


@pytest.mark.parametrize(
    ("error", "worst", "most"), [(0.5, 0.40, 20), (0.2, 0.16, 36), (0.1, 0.1, 50), (0.05, 0.05, 82)]
)
def test_exponential_histogram_within_its_bound(error: float, worst: float, most: int) -> None:
    chance = random.Random(7)
    for share in (0.02, 0.3, 1.0):
        histogram, ones = ExponentialHistogram(1000, error), []
        for now in range(1, 3001):
            if chance.random() < share:
                histogram.add(now)
                ones.append(now)
            if now % 50 == 0:
                true = sum(now - 1000 < at for at in ones)
                assert abs(histogram.estimate(now) - true) <= worst * max(1, true)
        assert len(histogram.buckets) <= most
    assert ExponentialHistogram(10, 0.5).estimate(1) == 0


def test_flajolet_martin_without_its_bias() -> None:
    for distinct in (100, 1000):
        parts = [FlajoletMartin(64), FlajoletMartin(64)]
        for value in range(distinct):
            parts[value % 2].add(value)
            parts[1].add(value)
        estimate = parts[0].merged(parts[1]).estimate()
        assert distinct / 1.5 < estimate < 1.5 * distinct
    assert FlajoletMartin().estimate() == 0


def test_count_min_is_never_too_low() -> None:
    chance = random.Random(3)
    sketches, true = [CountMin(4, 100), CountMin(4, 100)], Counter[int]()
    for _ in range(3000):
        value = int(chance.expovariate(0.05))
        true[value] += 1
        sketches[value % 2].add(value)
    merged = sketches[0].merged(sketches[1])
    over = [merged.estimate(value) - count for value, count in true.items()]
    assert min(over) >= 0
    assert sum(one <= 3000 * 2.72 / 100 for one in over) >= 0.98 * len(over)
