"""Edges of trees: four ways to count them agree, with each other and with marks in an array."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest

from tests.support.models.planning import random_windows, vectors
from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.planning.edge_counts import bit_set, edge_rate, f1, f1_collapsed, f1_terms
from tidewheel.queries.planning.edge_space import BitSpace, PhaseSpace, edge_space, rate_of
from tidewheel.queries.planning.phases import Phase, components, meet, period_of, phases_of, reduced
from tidewheel.queries.planning.weaveability import pair_edge_rate
from tidewheel.queries.shared_plan import build_shared_plan
from tidewheel.queries.slicing import Slicing
from tidewheel.queries.windows import Window


def phases_in(listed: list[list[int]]) -> list[Phase]:
    return [(slide, shift) for slide, shift in listed]


def random_phases(draw: random.Random, size_max: int, slide_max: int) -> list[Phase]:
    slides = [draw.randint(1, slide_max) for _ in range(draw.randint(1, size_max))]
    return [(slide, draw.randrange(slide)) for slide in slides]


@pytest.mark.parametrize("vector", vectors("edge_counts.json"))
def test_vectors(vector: dict[str, Any]) -> None:
    phases = phases_in(vector["phases"])
    assert (period_of(phases), bit_set(phases), f1(phases)) == (vector["period"], vector["edges"], vector["edges"])
    assert f1_collapsed(phases) == edge_rate(phases) == Fraction(vector["rate"])
    if "windows" in vector:
        windows = [Window(*pair) for pair in vector["windows"]]
        assert set(phases) == {phase for window in windows for phase in phases_of(window)}
    if "marks" in vector:
        # The marks of the source are those of the whole period, whichever phases are in yet.
        counted = [edge_rate(phases[:size]) * vector["period"] for size in range(1, len(phases) + 1)]
        assert counted == vector["marks"]
    if "terms" in vector:
        assert f1_terms(phases, vector["period"]) == vector["terms"]
    for one, other, common in vector.get("pairs", []):
        both = meet(tuple(one), tuple(other))
        assert both is not None
        assert vector["period"] // both[0] == common
    for one, other in vector.get("apart", []):
        assert meet(tuple(one), tuple(other)) is None


def test_phases_meet_where_marks_meet() -> None:
    for slide in range(1, 13):
        for other in range(1, 13):
            for shift in range(slide):
                for other_shift in range(other):
                    common = [at for at in range(slide * other) if at % slide == shift and at % other == other_shift]
                    both = meet((slide, shift), (other, other_shift))
                    assert (both[1] if both else None) == (common[0] if common else None)


def test_the_formula_counts_what_marks_count() -> None:
    draw = random.Random(51)
    for _ in range(3000):
        phases = random_phases(draw, 7, 12)
        rate = Fraction(bit_set(phases), period_of(phases))
        assert Fraction(f1(phases), period_of(phases)) == rate, phases
        assert f1_collapsed(phases) == edge_rate(phases) == rate, phases
        assert edge_rate(reduced(phases)) == rate, phases


def test_parts_without_common_divisors_are_independent() -> None:
    draw = random.Random(52)
    for _ in range(300):
        phases = random_phases(draw, 6, 30)
        idle = Fraction(1)
        for part in components(phases):
            idle *= 1 - Fraction(bit_set(part), period_of(part))
        assert 1 - idle == f1_collapsed(phases)


def test_both_spaces_count_alike() -> None:
    draw = random.Random(53)
    for _ in range(300):
        each = [phases_of(window) for window in random_windows(draw, draw.randint(1, 6), offsets=True)]
        phases = frozenset[Phase]().union(*each)
        bits, formula = BitSpace(phases, period_of(phases)), PhaseSpace(period_of(phases))
        spaces: tuple[Any, ...] = (bits, formula)
        for space in spaces:
            edges = space.edges(each[0])
            for more in each[1:]:
                edges = space.union(edges, space.edges(more))
            assert rate_of(space, edges) == edge_rate(phases)


def test_edges_are_those_of_the_shared_plan() -> None:
    draw = random.Random(54)
    for _ in range(200):
        windows = random_windows(draw, 3, offsets=True)
        for slicing in Slicing:
            plan = build_shared_plan(windows, slicing)
            phases = [phase for window in windows for phase in phases_of(window, slicing)]
            assert edge_rate(phases) == Fraction(len(plan.edges), plan.period)


def test_a_pair_of_windows_needs_no_looking_at_edges() -> None:
    draw = random.Random(55)
    for _ in range(3000):
        one, other = (phases_of(window) for window in random_windows(draw, 2, 40, offsets=True))
        assert pair_edge_rate(one, other) == edge_rate(one | other)


def test_a_long_period_is_no_obstacle() -> None:
    primes = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47]
    slides = list(range(7, 51))
    rate = edge_rate((slide, 0) for slide in primes)
    idle = Fraction(1)
    for prime in primes:
        idle *= 1 - Fraction(1, prime)
    assert rate == 1 - idle
    near = sum(any(at % slide == 0 for slide in slides) for at in range(50_000)) / 50_000
    assert float(edge_rate((slide, 0) for slide in slides)) == pytest.approx(near, abs=5e-3)
    assert isinstance(edge_space([frozenset({(slide, 0)}) for slide in slides]), PhaseSpace)


def test_what_is_too_large_is_refused_with_the_way_out() -> None:
    with pytest.raises(InvalidInput, match="collapsed form"):
        f1((slide, 0) for slide in range(7, 50))
    with pytest.raises(InvalidInput, match=r"(?s)cannot count edges: .* slide families, .* round slides to"):
        edge_rate([(slide, 1) for slide in range(20, 64)], terms_max=1000)
    assert edge_rate([(6, 1), (10, 2), (15, 4)], terms_max=1) == Fraction(bit_set([(6, 1), (10, 2), (15, 4)]), 30)
