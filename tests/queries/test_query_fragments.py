"""Fragments: where they end, how they are numbered, and that every window is a run of them."""

from __future__ import annotations

import json
import random
from math import gcd
from pathlib import Path
from typing import Any

import pytest

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.grouping import roll_up, union_of_columns
from tidewheel.queries.operations.chosen import LAST_BY_ARRIVAL
from tidewheel.queries.operations.whole_sums import whole_sum
from tidewheel.queries.oracle import window_fold
from tidewheel.queries.shared_plan import build_shared_plan
from tidewheel.queries.signatures import EVERY_ROW, Signatures, split_predicates
from tidewheel.queries.slicing import Slicing, edge_offsets
from tidewheel.queries.windows import Window

VECTORS = Path(__file__).parent.parent / "query_vectors"


def vectors(file: str) -> list[Any]:
    found = json.loads((VECTORS / file).read_text(encoding="utf-8"))["vectors"]
    assert found
    return [pytest.param(vector, id=vector["name"]) for vector in found]


@pytest.mark.parametrize("vector", vectors("slicing.json"))
def test_one_window(vector: dict[str, Any]) -> None:
    window, slicing = Window(vector["range"], vector["slide"]), Slicing(vector["slicing"])
    assert sorted(edge or window.slide for edge in edge_offsets(window, slicing)) == vector["edges"]
    plan = build_shared_plan([window], slicing)
    assert (list(plan.edges), list(plan.counts)) == (vector["edges"], vector["counts"])


@pytest.mark.parametrize("vector", vectors("shared_plans.json"))
def test_shared_plan(vector: dict[str, Any]) -> None:
    windows = [Window(*pair) for pair in vector["windows"]]
    plan = build_shared_plan(windows, Slicing(vector["slicing"]))
    assert (plan.period, list(plan.edges)) == (vector["period"], vector["edges"])
    assert (list(plan.counts), plan.count_max) == (vector["distinct"], vector["count_max"])
    for window, counts in zip(windows, vector["counts"], strict=True):
        reports = window.reports_between(0, plan.period)
        assert {str(at): plan.count(window, at) for at in reports} == counts


def test_fragments_of_a_window_are_as_many_as_published() -> None:
    for span in range(1, 60):
        for slide in range(1, 30):
            window, rest = Window(span, slide), span % slide
            whole = {slicing: build_shared_plan([window], slicing).run(window, 7 * slide) for slicing in Slicing}
            counts = {slicing: run.count + run.is_open for slicing, run in whole.items()}
            if rest:
                expected = (span // gcd(span, slide), 2 * (span // slide) + 1, -(-span // slide))
            else:
                expected = (span // gcd(span, slide), span // slide, span // slide)
            assert tuple(counts.values()) == expected, window


def random_plan(chance: random.Random):
    windows = [
        Window(chance.randint(1, 40), chance.randint(1, 10), chance.randint(-15, 15))
        for _ in range(chance.randint(1, 4))
    ]
    return build_shared_plan(windows, chance.choice(list(Slicing)))


@pytest.mark.parametrize("seed", range(60))
def test_every_window_is_a_run_of_fragments(seed: int) -> None:
    plan = random_plan(random.Random(seed))
    for number in range(-len(plan.edges) - 2, len(plan.edges) + 2):
        start, end = plan.start_of(number), plan.end_of(number)
        assert start < end
        assert {plan.number_of(at) for at in range(start, end)} == {number}
    for at, due in plan.reports_between(-plan.period, plan.period):
        assert due == sorted(due, key=lambda window: -plan.count(window, at))
        for window in due:
            assert (at - window.offset) % window.slide == 0
            run = plan.run(window, at)
            assert plan.start_of(run.first) == at - window.length
            assert (
                plan.start_of(run.end) == at if not run.is_open else plan.start_of(run.end) < at < plan.end_of(run.end)
            )
            assert not (run.is_open and plan.slicing is not Slicing.CUTTY)
            assert run.count in plan.counts


def test_report_times_are_half_open_from_below() -> None:
    assert list(Window(5, 3, 1).reports_between(1, 10)) == [4, 7, 10]
    assert list(Window(5, 3, 1).reports_between(-6, -2)) == [-5, -2]
    plan = build_shared_plan([Window(4, 2), Window(6, 3)])
    assert [(at, len(due)) for at, due in plan.reports_between(0, 6)] == [(2, 1), (3, 1), (4, 1), (6, 2)]


@pytest.mark.parametrize("numbers", [(0, 5), (5, 0), (-1, 2), (2.5, 1)])
def test_a_window_has_positive_whole_numbers(numbers: tuple[Any, Any]) -> None:
    with pytest.raises(InvalidInput, match="range and slide must be positive whole numbers of microseconds"):
        Window(*numbers)


def test_a_period_that_is_too_long_is_refused() -> None:
    second = 1_000_000
    build_shared_plan([Window(997 * second, 997 * second), Window(991 * second, 991 * second)])
    with pytest.raises(InvalidInput, match=r"slides 10007 .*, 9973 .*, 997 .* share no common period below 10000000"):
        build_shared_plan([Window(second, slide) for slide in (997, 9973, 10007)])
    with pytest.raises(InvalidInput, match="share no common period"):
        build_shared_plan([Window(1, 1), Window(5, 99_999_989)])
    with pytest.raises(InvalidInput, match="use Pairs"):
        build_shared_plan([Window(99_999_989, 300 * second)], Slicing.PANES)
    with pytest.raises(InvalidInput, match="at least one window"):
        build_shared_plan([])


def test_predicates_have_bits() -> None:
    signatures = Signatures(("x", EVERY_ROW, "y"))
    assert [signatures.of(held.__contains__) for held in ("", "x", "y", "xy")] == [2, 3, 6, 7]
    assert [signatures.selects("y", signature) for signature in (2, 3, 6, 7)] == [False, False, True, True]
    with pytest.raises(InvalidInput, match="more than 256 signatures"):
        Signatures(tuple("abcdefghi"))
    with pytest.raises(InvalidInput, match="named twice"):
        Signatures(("a", "a"))
    split = split_predicates([*"abcdefghi", EVERY_ROW, "a"])
    assert [tree.predicates for tree in split] == [(EVERY_ROW, *"abcdefgh"), ("i",)]


@pytest.mark.parametrize("seed", range(60))
def test_shared_partials_of_predicates_and_groups_answer_each_query(seed: int) -> None:
    """Random workloads of 4 queries with 4 predicates and group-bys over two columns, against brute force."""
    chance = random.Random(seed)
    total, predicates = whole_sum(), {f"v % {k} = 0": k for k in (2, 3, 5)}
    rows = [((chance.randrange(3), chance.randrange(3)), chance.randrange(60)) for _ in range(60)]
    queries = [
        (chance.choice([EVERY_ROW, *predicates]), chance.choice([(), ("a",), ("b",), ("b", "a")])) for _ in range(4)
    ]
    kept = union_of_columns(columns for _, columns in queries)
    signatures = Signatures(tuple(dict.fromkeys(predicate for predicate, _ in queries)))
    partials: dict[Any, int] = {}
    for cells, value in rows:
        divided = {text for text, divisor in predicates.items() if value % divisor == 0}
        signature = signatures.of(divided.__contains__)
        place = (signature, tuple(cells["ab".index(column)] for column in kept))
        if signature:
            partials[place] = partials.get(place, 0) + value
    for predicate, columns in queries:
        chosen = [
            (key, sum_) for (signature, key), sum_ in partials.items() if signatures.selects(predicate, signature)
        ]
        expected: dict[Any, int] = {}
        for cells, value in rows:
            if predicate == EVERY_ROW or value % predicates[predicate] == 0:
                key = tuple(cells["ab".index(column)] for column in columns)
                expected[key] = expected.get(key, 0) + value
        assert roll_up(total, chosen, kept, columns) == expected


def test_what_depends_on_order_is_not_rolled_up() -> None:
    rows = [(("x", "u"), 1), (("y", "u"), 2)]
    assert roll_up(LAST_BY_ARRIVAL, rows, ("a", "b"), ("b", "a")) == {("u", "x"): 1, ("u", "y"): 2}
    with pytest.raises(InvalidInput, match="depends on the order of records"):
        roll_up(LAST_BY_ARRIVAL, rows, ("a", "b"), ("b",))
    with pytest.raises(InvalidInput, match="not kept by c"):
        roll_up(whole_sum(), rows, ("a", "b"), ("c",))


def test_the_oracle_is_half_open() -> None:
    records = [(at, (at,)) for at in range(10)]
    assert window_fold(whole_sum(), records, 2, 5) == 2 + 3 + 4
    assert window_fold(LAST_BY_ARRIVAL, records, 20, 30) is None
