"""Isolation of queries over sliding windows.

Histories, schedulers, their theorems by enumeration, and the experiment.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations_with_replacement, permutations, product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.isolation.buckets import BucketQuery
from tidewheel.queries.literature.isolation.histories import History, Kind, Read, Step, read_history
from tidewheel.queries.literature.isolation.levels import classify, is_acyclic, levels_of, serialization_graph
from tidewheel.queries.literature.isolation.periodic_access import touched
from tidewheel.queries.literature.isolation.read_schedulers import (
    SCHEDULERS,
    Attempt,
    FixedOrder,
    HighestTimeToUpdate,
    PinnedCopies,
    SingleCopy,
    State,
    WindowLock,
    played,
    scheduler_named,
)
from tidewheel.queries.literature.isolation.read_simulation import Setting, experiment
from tidewheel.queries.literature.isolation.read_undo import UndoneSum
from tidewheel.queries.literature.isolation.shared_scans import SharedScan
from tidewheel.queries.literature.isolation.window_ring import Ring, slides_survived

VECTORS = json.loads((Path(__file__).parent / "vectors" / "isolation.json").read_text(encoding="utf-8"))
ENUMERATED = VECTORS["enumerated"]


@pytest.mark.parametrize("name", sorted(VECTORS["histories"]))
def test_reference_histories(name):
    wanted = VECTORS["histories"][name]
    found = classify(read_history(wanted["text"]))
    [query] = found.queries
    assert sorted(query.read.versions) == wanted["versions"]
    assert sorted("->".join(edge) for edge in found.edges) == sorted(wanted["edges"])
    assert (query.window, query.latest, found.is_commit_preserving) == (wanted["WS"], wanted["LWS"], wanted["CPS"])
    assert found.is_serializable


def test_two_queries_need_not_be_serializable():
    wanted = VECTORS["two_queries"]
    assert not classify(read_history(wanted["text"], slots=wanted["slots"])).is_serializable


def test_the_graph_does_not_see_a_short_window_move():
    wanted = VECTORS["short_window"]
    found = classify(read_history(wanted["text"], slots=wanted["slots"]))
    assert list(found.edges) == wanted["edges"]
    assert found.queries[0].latest is wanted["LWS"]


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: f"{case['scheduler']}-{case['pattern']}")
def test_schedulers_on_worked_cases(case):
    attempt = played(SCHEDULERS[case["scheduler"]](Ring(case["n"]), case["n_k"], case["m"]), case["pattern"])
    found: dict[str, Any] = {
        "slots": attempt.slots_read,
        "versions": attempt.versions,
        "tested": [list(test) for test in attempt.tested],
        "state": attempt.state.value,
    }
    assert {name: found[name] for name in found if name in case} == {name: case[name] for name in found if name in case}


def test_times_to_update():
    for last, wanted in VECTORS["times_to_update"]:
        assert [Ring(5).time_to_update(slot, last) for slot in range(5)] == wanted


@pytest.mark.parametrize("order", ["by_slot", "youngest_first"])
def test_undo_on_the_worked_case(order):
    vector = VECTORS["undo"]
    values = {int(version): value for version, value in vector["values"].items()}
    query = UndoneSum(Ring(vector["n"]), vector["n"], vector["m"], values, by_slot=order == "by_slot")
    query.read()
    totals = [query.total]
    query.slide()
    totals.append(query.total)
    while not query.is_done:
        query.read()
        totals.append(query.total)
    assert (totals, query.undone) == (vector[order]["totals"], vector[order]["undone"])


def test_undo_gives_the_newest_state_after_any_schedule():
    for seed in range(400):
        chance = Random(seed)
        ring = Ring(chance.randint(1, 6))
        length = chance.randint(1, ring.slots)
        values = {version: chance.randint(1, 99) for version in range(60)}
        queries = [UndoneSum(ring, length, 20, values, by_slot=by_slot) for by_slot in (True, False)]
        slides = 0
        while not all(query.is_done for query in queries):
            is_slide = slides < 20 and chance.random() < 0.4
            slides += is_slide
            for query in queries:
                if not query.is_done:
                    query.slide() if is_slide else query.read()
        for query in queries:
            assert query.total == sum(values[v] for v in range(query.last - length + 1, query.last + 1)), seed


def test_buckets_on_the_worked_case():
    vector = VECTORS["buckets"]
    brought = {int(expires): rows for expires, rows in vector["brought"].items()}

    def begun() -> BucketQuery:
        return BucketQuery({int(expires): list(rows) for expires, rows in vector["first"].items()})

    query = begun()
    query.read()
    query.slide(vector["dropped"], brought)
    while not query.is_done:
        query.read()
    assert sorted(query.rows) == vector["rows"]
    unlucky = begun()
    unlucky.read(vector["dropped"])
    unlucky.slide(vector["dropped"], brought)
    assert unlucky.is_aborted


def test_sub_windows_touched():
    for case in VECTORS["touched"]:
        found = touched(case["lengths"], case["slides"])
        assert {name: max(one.records, one.summaries) for name, one in found.items()} == {
            name: case[name] for name in found
        }


# Enumerations.


def _patterns(longest: int) -> Iterator[str]:
    for length in range(1, longest + 1):
        yield from map("".join, product("RW", repeat=length))


def _sizes(most: int) -> Iterator[tuple[int, int]]:
    return ((slots, length) for slots in range(1, most + 1) for length in range(1, slots + 1))


def _steps(slots: int, order: tuple[int, ...], gaps: tuple[int, ...], first: int) -> tuple[Step, ...]:
    """Reads of slots in an order; before read i as many slides as `gaps` has i, each committed at once."""
    steps: list[Step] = []
    slide = first
    for place in range(len(order) + 1):
        for _ in range(gaps.count(place)):
            slide += 1
            steps += [Step(Kind.WRITE, slide=slide, slot=slide % slots), Step(Kind.COMMIT_SLIDE, slide=slide)]
        if place < len(order):
            steps.append(Step(Kind.READ, query="Q", slot=order[place]))
    return (*steps, Step(Kind.COMMIT_QUERY, query="Q"))


def _graph_says(history: History) -> tuple[bool, bool]:
    """Return what theorems 7.1 and 7.2 read from the serialization graph."""
    edges = serialization_graph(history)
    before = [int(source[1:]) for source, target in edges if target == "Q"]
    after = [int(target[1:]) for source, target in edges if source == "Q"]
    return max(before, default=-1) < min(after, default=10**9), not after


def test_theorems_on_all_histories_of_one_query():
    counted = window = latest = 0
    for slots in (2, 3, 4):
        for order in permutations(range(slots)):
            for many in range(slots + 3):
                for gaps in combinations_with_replacement(range(slots + 1), many):
                    history = History(Ring(slots), slots - 1, _steps(slots, order, gaps, slots - 1))
                    found = classify(history)
                    [levels] = found.queries
                    counted += 1
                    window += levels.window
                    latest += levels.latest
                    assert _graph_says(history) == (levels.window, levels.latest)
                    assert found.is_commit_preserving is levels.latest  # theorem 7.5
                    assert found.is_serializable
                    assert levels.strong <= levels.window
                    assert levels.latest <= levels.strong
    assert (counted, window, latest) == (ENUMERATED["histories"], ENUMERATED["WS"], ENUMERATED["LWS"])


def test_algorithm_7_commits_latest_windows_in_every_order():
    counted = 0
    patterns = list(_patterns(8))
    for slots in (1, 2, 3, 4):
        for length in range(1, slots + 1):
            for order in permutations(range(slots)):
                for pattern in patterns:
                    attempt = FixedOrder(Ring(slots), length, 20)
                    attempt.order = order
                    _check_committed(played(attempt, pattern), is_latest=True)
                    counted += 1
    assert counted == ENUMERATED["schedules_lws"]


def _check_committed(attempt: Attempt, is_latest: bool) -> None:
    if attempt.state is State.COMMITTED:
        levels = levels_of(Read("Q", tuple(attempt.versions), 20, attempt.last))
        assert levels.window
        assert levels.latest or not is_latest


def test_algorithm_8_aborts_only_where_every_order_does():
    counted = aborted = 0
    for slots, length in _sizes(5):
        orders = list(permutations(range(slots)))
        for pattern in _patterns(9):
            attempt = played(HighestTimeToUpdate(Ring(slots), length, 20), pattern)
            counted += 1
            _check_committed(attempt, is_latest=True)
            if attempt.state is State.ABORTED:
                aborted += 1
                if slots <= 3:
                    assert _all_abort(slots, length, orders, pattern)
            if "WW" not in pattern and not pattern.startswith("W"):
                assert attempt.state is not State.ABORTED  # a read between any two slides
    assert (counted, aborted) == (ENUMERATED["schedules_ttu"], ENUMERATED["aborts_ttu"])


def _all_abort(slots: int, length: int, orders: list[tuple[int, ...]], pattern: str) -> bool:
    attempts = []
    for order in orders:
        attempts.append(FixedOrder(Ring(slots), length, 20))
        attempts[-1].order = order
    return all(played(attempt, pattern).state is State.ABORTED for attempt in attempts)


def test_a_paused_query_survives_as_many_slides_as_it_lacks_reads():
    for slots, length in _sizes(6):
        for read in range(1, length):
            survives = slides_survived(length, read)
            for slides in range(2 * slots + 1):
                attempt = played(HighestTimeToUpdate(Ring(slots), length, 20), "R" * read + "W" * slides)
                assert (attempt.state is State.ABORTED) is (slides > survives)


def test_window_schedulers_commit_windows():
    counted = committed = 0
    for slots, length in _sizes(5):
        for pattern in _patterns(10):
            attempt = played(SingleCopy(Ring(slots), length, 20), pattern)
            counted += 1
            committed += attempt.state is State.COMMITTED
            _check_committed(attempt, is_latest=False)
            copies = played(PinnedCopies(Ring(slots), length, 20), pattern)
            assert copies.state is not State.ABORTED
            _check_committed(copies, is_latest=False)
    assert counted == ENUMERATED["schedules_single_copy"]
    assert committed == ENUMERATED["commits_single_copy"]


def test_members_of_a_shared_scan_end_as_if_alone():
    for slots in (1, 2, 3, 4):
        for lengths in combinations_with_replacement(range(1, slots + 1), 2):
            for pattern in _patterns(8):
                group = SharedScan(Ring(slots), lengths, 20)
                for letter in pattern:
                    group.read() if letter == "R" else group.slide()
                assert group.units_read <= pattern.count("R")
                alone = [played(HighestTimeToUpdate(Ring(slots), length, 20), pattern) for length in lengths]
                assert [(member.state, member.versions) for member in group.members] == [
                    (attempt.state, attempt.versions) for attempt in alone
                ]


def test_restarts_may_favour_another_order():
    vector = VECTORS["restarts"]
    outcomes = [_with_restarts(vector["n"], order, vector["pattern"]) for order in permutations(range(vector["n"]))]
    assert min(outcomes) == (vector["best"]["aborts"], -vector["best"]["commits"])
    assert _with_restarts(vector["n"], (), vector["pattern"]) == (vector["ttu"]["aborts"], -vector["ttu"]["commits"])


def _with_restarts(slots: int, order: tuple[int, ...], pattern: str) -> tuple[int, int]:
    """Play a pattern, beginning anew after each abort, to the first commit.

    Aborts, and commits as a negative number.
    """
    aborts, last = 0, 20 - 20 % slots + slots - 1

    def begun(last: int) -> Attempt:
        if not order:
            return HighestTimeToUpdate(Ring(slots), slots, last)
        attempt = FixedOrder(Ring(slots), slots, last)
        attempt.order = order
        return attempt

    attempt = begun(last)
    for letter in pattern:
        attempt.read() if letter == "R" else attempt.slide()
        last = attempt.last
        if attempt.state is State.COMMITTED:
            return aborts, -1
        if attempt.state is State.ABORTED:
            aborts += 1
            attempt = begun(last)
    return aborts, 0


def test_serial_lets_slides_wait():
    attempt = played(WindowLock(Ring(3), 3, 5), "RWWRWR")
    assert (attempt.versions, attempt.last) == ([5, 4, 3], 5)


# The experiment.


def _compare(wanted: dict[str, Any], one_time_rate: float) -> None:
    setting = Setting(wanted["n"], wanted["t"], 8 if wanted["t"] == 1 else 20, one_time_rate)
    found = {
        name: experiment(setting, scheduler_named(name), range(700, 705)) for name in ("serial", "ws", "lws", "ttu")
    }
    for figure, by_scheduler in wanted.items():
        if figure in ("t", "n"):
            continue
        for name, value in by_scheduler.items():
            if figure.endswith("abort_pct"):
                assert found[name][figure] == pytest.approx(value, abs=10), (figure, name)
                assert name != "ttu" or found[name][figure] == 0
            else:
                assert found[name][figure] == pytest.approx(value, rel=0.1), (figure, name)


@pytest.mark.parametrize("wanted", VECTORS["table_8_3"][:2], ids=lambda row: f"t{row['t']}-n{row['n']}")
def test_the_experiment_of_few_slots(wanted):
    _compare(wanted, 0)


@pytest.mark.nightly
@pytest.mark.parametrize("wanted", VECTORS["table_8_3"][2:], ids=lambda row: f"t{row['t']}-n{row['n']}")
def test_the_experiment(wanted):
    _compare(wanted, 0)


@pytest.mark.nightly
@pytest.mark.parametrize("wanted", VECTORS["mixed_8_3"], ids=lambda row: f"n{row['n']}")
def test_the_mixed_experiment(wanted):
    _compare(wanted, 1)


# What is refused.


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("r0 x5", "'x5' is no step of a history"),
        ("r0 w5[1] r1 r2 r3 r4", "slide 5 writes slot 1"),
        ("r4 w5[0] w7[2]", r"slide 7 refused: window clock is at 5, expected 6 \(slides must commit in order\)"),
    ],
)
def test_histories_that_cannot_be(text, told):
    with pytest.raises(InvalidInput, match=told):
        read_history(text)


def test_what_cannot_be_scheduled():
    with pytest.raises(InvalidInput, match="a query over 6 of 5 slots"):
        HighestTimeToUpdate(Ring(5), 6, 4)
    with pytest.raises(InvalidInput, match="unknown scheduler 'lifo'"):
        scheduler_named("lifo")
    with pytest.raises(InvalidInput, match="slot 4 of a window of 3"):
        read_history("r4", slots=3)
    assert is_acyclic([])
