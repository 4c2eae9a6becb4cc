"""FREQUENT: the worked examples to the digit, what it guarantees on random streams, and the published experiment."""

from __future__ import annotations

import json
import os
from collections import Counter
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.frequent.exact import ExactItems, brute_force
from tidewheel.queries.literature.frequent.experiment import experiment
from tidewheel.queries.literature.frequent.frequent import FrequentItems
from tidewheel.queries.literature.frequent.generated_stream import generated_items, starting_points
from tidewheel.queries.operations.frequent import Bound, Bounds, bounds_of, check, cut, rank, top_list

VECTORS = json.loads((Path(__file__).parent / "vectors" / "frequent_items.json").read_text(encoding="utf-8"))
STREAMS = int(os.environ.get("TIDEWHEEL_STREAMS", "1500"))


def _text(pairs: Any) -> str:
    return " ".join(f"{item}{count}" for item, count in pairs)


def _played(vector: dict[str, Any]) -> list[FrequentItems]:
    """One window for each sub-window that closed, as it was then."""
    states = []
    for last in range(1, len(vector["sub_windows"]) + 1):
        window = FrequentItems(vector["n"], vector["k"], Bound(vector["bound"]))
        for items in vector["sub_windows"][:last]:
            for item in items:
                window.add(item)
            window.close()
        states.append(window)
    return states


@pytest.mark.parametrize("name", ["V1", "V2", "V3", "V5"])
def test_worked_examples(name):
    vector = VECTORS[name]
    states = _played(vector)
    assert [state.lists[-1].delta for state in states] == vector["deltas"]
    if "lists" in vector:
        assert [_text(state.lists[-1].counts) for state in states] == vector["lists"]
    if "delta" in vector:
        assert [state.delta for state in states] == vector["delta"]
    if "counters" in vector:
        assert [_text(sorted(state.counters.items())) for state in states] == vector["counters"]
    answers = [_text(state.answer()) if state.is_full else None for state in states]
    assert answers == vector["answers"]
    for after, wanted in vector.get("bounds", {}).items():
        held = {found.item: [found.low, found.high] for found in states[int(after) - 1].bounds().items}
        assert {item: held[item] for item in wanted} == wanted
    for shorter in vector.get("youngest", ()):
        bounds = states[shorter["after"] - 1].bounds(youngest=shorter["sub_windows"])
        assert {found.item: found.low for found in bounds.reported()} == shorter["reported"]
        assert bounds.delta == shorter["delta"]


def test_identities_alone_do_not_suffice():
    vector = VECTORS["V4"]
    with pytest.raises(InvalidInput, match="can never report an item"):
        FrequentItems(vector["n"], vector["k"])
    lists = [top_list(Counter(items), vector["k"]) for items in vector["sub_windows"]]
    bounds = bounds_of(lists)
    assert _text((found.item, found.low) for found in bounds.reported()) == vector["answer"]
    assert _text(sorted((found.item, found.low) for found in bounds.items)) == vector["counters_last"]


def test_an_item_that_is_always_fourth_has_no_counter():
    vector = VECTORS["V6"]
    window = FrequentItems(vector["n"], vector["k"])
    for sub_window in range(vector["n"]):
        fresh = [f"f{sub_window}.{number}" for number in range(vector["fresh"])] * vector["each"]
        for item in [*fresh, *["x"] * vector["x"]]:
            window.add(item)
        window.close()
    assert window.delta == vector["delta"]
    assert "x" not in window.counters
    assert vector["true"] <= window.delta


def _random_stream(seed: int) -> tuple[list[list[tuple[Any, int]]], int, int, Bound]:
    """Sub-windows of (item, weight), with NULL among the items; how many make a window, k, and the bound."""
    chance = Random(seed)
    types = [*"abcdefgh"[: chance.randint(1, 8)], *([None] if chance.random() < 0.2 else [])]
    weight = 1 if chance.random() < 0.6 else 9
    stream = [
        [(chance.choice(types), chance.randint(1, weight)) for _ in range(chance.randint(0, 12))]
        for _ in range(chance.randint(1, 9))
    ]
    bound = chance.choice(list(Bound))
    return stream, chance.randint(1, 5), chance.randint(1 if bound is Bound.TIGHT else 2, 5), bound


def _counted(sub_windows: list[list[tuple[Any, int]]]) -> Counter[Any]:
    total: Counter[Any] = Counter()
    for sub_window in sub_windows:
        for item, weight in sub_window:
            total[item] += weight
    return total


def _check_guarantees(bounds: Bounds, truth: Counter[Any], k: int, bound: Bound) -> None:
    held = {found.item: found for found in bounds.items}
    reported = {found.item for found in bounds.reported()}
    assert bounds.total == truth.total()
    assert bounds.delta * (k if bound is Bound.KTH else k + 1) <= bounds.total  # G6
    for item, count in truth.items():
        if item in held:
            assert held[item].low <= count <= held[item].high  # G1
        else:
            assert count <= bounds.delta  # G2 and G4
        assert item not in reported or count > bounds.delta  # G3
        assert count <= 2 * bounds.delta or item in reported  # G5
    for found in bounds.reported():
        assert 2 * (truth[found.item] - found.low) < truth[found.item]  # G7
    assert not bounds.delta or len(reported) * bounds.delta < bounds.total  # G9
    for found, is_certain in zip(bounds.items, bounds.certain_ranks(len(bounds.items)), strict=True):
        behind = [truth[other] for other in truth if other != found.item and _is_behind(other, found.item, held)]
        assert not is_certain or truth[found.item] > max(behind, default=-1)
    threshold = bounds.delta + truth.total() // 7
    above = bounds.above(threshold)
    assert above.is_complete
    assert all(truth[found.item] > threshold for found in above.sure)
    known = {found.item for found in (*above.sure, *above.possible)}
    assert all(item in known for item, count in truth.items() if count > threshold)


def _is_behind(other: Any, item: Any, held: dict[Any, Any]) -> bool:
    if other not in held:
        return True
    return rank((other, held[other].low)) > rank((item, held[item].low))


def test_guarantees_on_random_streams():
    for seed in range(STREAMS):
        stream, n, k, bound = _random_stream(seed)
        print("seed", seed)
        window, exact = FrequentItems(n, k, bound), ExactItems(n)
        for last, sub_window in enumerate(stream, start=1):
            for item, weight in sub_window:
                window.add(item, weight)
                exact.add(item, weight)
            window.close()
            exact.close()
            young = stream[max(0, last - n) : last]
            truth = _counted(young)
            bounds = window.bounds()
            assert truth == exact.counters
            assert window.stored_pairs <= exact.stored_pairs
            assert window.stored_pairs <= n * k
            assert window.delta == bounds.delta
            assert dict(window.counters) == {found.item: found.low for found in bounds.items}
            assert window.answer() == [(found.item, found.low) for found in bounds.reported()]
            _check_guarantees(bounds, truth, k, bound)
            distinct = [len({item for item, _ in sub}) for sub in young]
            if all(d < k if bound is Bound.KTH else d <= k for d in distinct):  # G11
                assert bounds.delta == 0
                assert dict(window.counters) == dict(truth)
            if all(d >= k for d in distinct) and bound is Bound.KTH:  # G10
                assert bounds.delta >= len(young)


def test_a_shorter_list_is_cut_from_a_longer_one():
    for seed in range(500):
        chance = Random(seed)
        counts = {item: chance.randint(1, 6) for item in "abcdefg"[: chance.randint(0, 7)]}
        longest = chance.randint(2, 6)
        for k in range(1, longest + 1):
            assert cut(top_list(counts, longest), k, Bound.KTH) == top_list(counts, k)
            longer = top_list(counts, k + 1 if k < longest else k, Bound.TIGHT)
            assert cut(longer, k, Bound.TIGHT) == top_list(counts, k, Bound.TIGHT), seed


def test_more_entries_find_more_items():
    stream = generated_items(20_000, seed=7)
    found = [len(_window(stream, k).reported()) for k in (2, 4, 8, 16)]
    assert found == sorted(found)
    assert found[0] < found[-1]


def _window(stream: list[int], k: int) -> Bounds:
    return bounds_of(top_list(Counter(stream[first : first + 500]), k) for first in range(0, len(stream), 500))


def test_brute_force_is_the_exact_counters():
    exact = ExactItems(2)
    for items in ("abba", "acc", "bbb"):
        for item in items:
            exact.add(item)
        exact.close()
    assert exact.above(1) == brute_force("accbbb", 1) == [("b", 3), ("c", 2)]


def test_what_cannot_be_is_refused():
    with pytest.raises(InvalidInput, match="lists of 0 items"):
        check(0, Bound.TIGHT)
    check(1, Bound.TIGHT)
    with pytest.raises(InvalidInput, match="negative weight -3 for item 'x'"):
        FrequentItems(3, 2).add("x", -3)


@cache
def _published_stream() -> list[int]:
    return generated_items()


def _row(b: int, k: int, bound: Bound = Bound.KTH) -> dict[str, Any]:
    mean = experiment(_published_stream(), starting_points(), 100_000, b, k, bound)
    assert mean.identified is not None
    assert mean.error_over is not None
    assert mean.error_reported is not None
    return {
        "b": b,
        "k": k,
        "threshold": round(100 * mean.threshold, 2),
        "over": round(mean.over, 2),
        "reported": round(mean.reported, 2),
        "identified": round(100 * mean.identified, 1),
        "pairs": round(mean.list_pairs),
        "counters": round(mean.counters),
        "errors": [round(100 * mean.error_over, 2), round(100 * mean.error_reported, 2)],
    }


def test_the_stand_in_begins_as_published():
    assert generated_items(20) == [84, 6, 84, 5, 2, 1, 44, 5, 0, 96, 0, 151, 6, 95, 6, 96, 96, 0, 2, 360]


def test_the_experiment_of_the_fewest_lists():
    assert _row(500, 3) in VECTORS["table_8_3"]


@pytest.mark.nightly
@pytest.mark.parametrize("wanted", VECTORS["table_8_3"], ids=lambda row: f"b{row['b']}-k{row['k']}")
def test_the_experiment(wanted):
    assert _row(wanted["b"], wanted["k"]) == wanted


@pytest.mark.nightly
@pytest.mark.parametrize("wanted", VECTORS["tight_8_3"], ids=lambda row: f"k{row['k']}")
def test_the_experiment_with_the_tight_bound(wanted):
    row = _row(wanted["b"], wanted["k"], Bound.TIGHT)
    assert {name: row[name] for name in wanted} == wanted
