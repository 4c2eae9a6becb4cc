"""Operations per slide, exactly those that the literature's table says once it is corrected."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product
from pathlib import Path
from typing import Any

import pytest

from tests.queries.test_query_technique_traces import OPERATIONS
from tidewheel.queries.choice import TECHNIQUES, technique_named
from tidewheel.queries.operations.whole_sums import whole_sum
from tidewheel.queries.shared_plan import build_shared_plan
from tidewheel.queries.technique import Technique
from tidewheel.queries.technique_costs import cost
from tidewheel.queries.techniques.flat_fit import FlatFIT
from tidewheel.queries.techniques.naive import Naive
from tidewheel.queries.techniques.slick_deque_non_inv import SlickDequeNonInv
from tidewheel.queries.windows import Window

VECTORS = json.loads((Path(__file__).parent.parent / "query_vectors/technique_costs.json").read_text(encoding="utf-8"))[
    "vectors"
]


def name_of(vector: dict[str, Any]) -> str:
    keys = ("technique", "operation", "n", "reports", "ascending", "options")
    return " ".join(str(vector[key]) for key in keys if key in vector)


def calls_per_slide(technique: Technique, asked: list[int], slides: int) -> list[int]:
    costs = []
    text = technique.operation.name == "concatenation"
    for slide in range(slides):
        before = technique.calls
        technique.insert("x" if text else slide * 7919 % 104_729)
        for count in asked:
            technique.query(count)
        costs.append(technique.calls - before)
    return costs


@pytest.mark.parametrize("vector", VECTORS, ids=name_of)
def test_operations_per_slide(vector: dict[str, Any]) -> None:
    n = vector["n"]
    asked = [n] if vector["reports"] == "one" else sorted(range(1, n + 1), reverse=not vector.get("ascending"))
    technique = technique_named(vector["technique"])(
        OPERATIONS[vector["operation"]], asked, **vector.get("options", {})
    )
    # Every technique repeats after n slides or fewer, FlatFIT after n + 1; DABA needs a while to get there.
    period = n + 1 if technique.name == "FlatFIT" else n
    costs = calls_per_slide(technique, asked, 4 * period)[2 * period :]
    if "mean" in vector:
        assert Fraction(sum(costs), len(costs)) == Fraction(vector["mean"])
    if "worst" in vector:
        assert max(costs) == vector["worst"]


@pytest.mark.parametrize("n", [2, 4, 8, 16, 64, 128])
def test_the_published_formula_of_flat_fat_counts_nodes_not_operations(n: int) -> None:
    asked, height = list(range(n, 0, -1)), int(math.log2(n))
    costs = calls_per_slide(technique_named("FlatFAT")(OPERATIONS["max"], asked), asked, 2 * n)[n:]
    published = n * height - Fraction(3 * n, 2) + Fraction(5 * height, 2) + Fraction(5, 2)
    assert Fraction(sum(costs), n) == published - n - height


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_the_monotone_deque_takes_two_less_two_nths(n: int) -> None:
    """Over all orders of n values, of which the last is the insert that is counted; once it takes n - 1."""
    costs = []
    for order in permutations(range(n)):
        technique = SlickDequeNonInv(OPERATIONS["max"], [n])
        for partial in order[:-1]:
            technique.insert(partial)
        before = technique.calls
        technique.insert(order[-1])
        costs.append(technique.calls - before)
    assert Fraction(sum(costs), len(costs)) == 2 - Fraction(2, n)
    assert max(costs) == n - 1


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_the_monotone_deque_is_as_long_as_the_harmonic_number(n: int) -> None:
    lengths = []
    for order in permutations(range(n)):
        technique = SlickDequeNonInv(OPERATIONS["max"], [n])
        for partial in order:
            technique.insert(partial)
        lengths.append(len(technique.nodes))
    assert Fraction(sum(lengths), len(lengths)) == sum(Fraction(1, k) for k in range(1, n + 1))


@pytest.mark.parametrize(("ranges", "expected"), [((64, 32), 32), ((64, 63), 63), ((64, 2), 64)])
def test_the_stack_of_flat_fit_is_no_shorter_than_it_is(ranges: tuple[int, ...], expected: int) -> None:
    """The published bound n / 2^(q - 1) holds for evenly spread ranges only."""
    technique = FlatFIT(OPERATIONS["max"], ranges, write_start=False)
    calls_per_slide(technique, sorted(ranges, reverse=True), 64)
    technique.stack_max = 0
    calls_per_slide(technique, sorted(ranges, reverse=True), 640)
    assert technique.stack_max == expected


def test_flat_fit_scans_without_a_stack() -> None:
    scanning, stacking = (FlatFIT(OPERATIONS["max"], [64], scan=scan) for scan in (True, False))
    assert calls_per_slide(scanning, [64], 650) == calls_per_slide(stacking, [64], 650)
    assert (scanning.stack_max, stacking.stack_max) == (3, 64)


def in_order(technique: type[Technique], n: int) -> int:
    """After so many slides all comes again."""
    if technique.name == "FlatFIT":
        return n + 1
    if technique.name == "DABA":
        return n if n % 2 == 0 else max(1, n - 1)
    return 1 << (n - 1).bit_length() if technique.name in ("FlatFAT", "B-Int") else n


@pytest.mark.parametrize(
    "technique", [one for one in TECHNIQUES if one is not SlickDequeNonInv], ids=lambda one: one.name
)
def test_what_is_told_beforehand_is_what_is_counted(technique: type[Technique]) -> None:
    for n, commutes in product(range(1, 34), (True, False)):
        operation = replace(whole_sum(), commutative=commutes)
        told = cost(technique, operation, build_shared_plan([Window(n, 1)]))
        costs = calls_per_slide(technique(operation, [n]), [n], 4 * n + 8 * in_order(technique, n))
        assert sum(costs[4 * n :]) / len(costs[4 * n :]) == pytest.approx(told.mean), (n, commutes)
        assert max(costs[2 * n :]) == told.worst, (n, commutes)


@pytest.mark.parametrize("technique", [one for one in TECHNIQUES if not one.one_count_only], ids=lambda one: one.name)
def test_shared_plans_are_counted(technique: type[Technique]) -> None:
    operation = OPERATIONS["max"] if technique is SlickDequeNonInv else whole_sum()
    plan = build_shared_plan([Window(7, 5), Window(6, 2)])
    told = cost(technique, operation, plan)
    known = {"Panes": 24 / 7, "SlickDeque (Inv)": 6}
    assert told.mean == pytest.approx(known.get(technique.name, told.mean))
    assert told.mean is not None
    assert told.worst is not None
    assert 0 < told.mean <= told.worst
    very_long = cost(technique, operation, build_shared_plan([Window(10**7, 10**4 - 1), Window(7, 5)]))
    assert (very_long.mean is None) is (technique is not Naive)
