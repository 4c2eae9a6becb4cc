"""The planners against the examples of the literature, exactly."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from tests.support.models.planning import chance, loom_of, members, numbered, numbers, pages, vectors
from tidewheel.queries.planning.catalogue import planner_named
from tidewheel.queries.planning.certificate import certificate
from tidewheel.queries.planning.cost_model import composite_count, three_levels
from tidewheel.queries.planning.edge_counts import edge_rate
from tidewheel.queries.planning.loom import Loom
from tidewheel.queries.planning.phases import phases_of
from tidewheel.queries.planning.planners.contiguous import contiguous_table
from tidewheel.queries.planning.weaveability import weaveability
from tidewheel.queries.windows import Window


@pytest.mark.parametrize("vector", vectors("weave_share.json"))
def test_plans_by_the_published_cost(vector: dict[str, Any]) -> None:
    unit = Fraction(vector.get("unit", 1))
    loom = loom_of(vector["queries"], str(Fraction(vector["rate"]) * unit))

    def shown(cost: Any) -> Fraction | float:
        return loom.model.shown(cost) / unit

    for name, cost in vector.get("plans", {}).items():
        assert planner_named(name).plan(loom, chance()).cost / unit == Fraction(cost), name
    for name, trees in vector.get("trees", {}).items():
        assert numbers(planner_named(name).plan(loom, chance())) == trees, name
    for name, saved in vector.get("savings", {}).items():
        alone = planner_named("No Share").plan(loom, chance()).cost
        assert (alone - planner_named(name).plan(loom, chance()).cost) / unit == Fraction(saved), name
    for pair, gain in vector.get("gains", {}).items():
        one, other = (loom.singles[int(at)] for at in pair.split(","))
        assert shown(loom.gain(one, other)) == Fraction(gain), pair
    if "singles" in vector:
        assert [shown(single.cost) for single in loom.singles] == [Fraction(cost) for cost in vector["singles"]]


@pytest.mark.parametrize("vector", vectors("weave_share.json"))
def test_edges_and_certificates(vector: dict[str, Any]) -> None:
    unit = Fraction(vector.get("unit", 1))
    loom = loom_of(vector["queries"], str(Fraction(vector["rate"]) * unit))
    for single, rate in zip(loom.singles, vector.get("edge_rates", []), strict=False):
        assert loom.rate(single) / unit == Fraction(rate)
    for pair, share in vector.get("weaveability", {}).items():
        assert weaveability(loom, *(loom.singles[int(at)] for at in pair.split(","))) == Fraction(share)
    if "union_rate" in vector:
        assert loom.rate(loom.tree(range(len(loom.singles)))) / unit == Fraction(vector["union_rate"])
    if "least_cost" in vector:
        assert certificate(loom.workload).least_cost == Fraction(vector["least_cost"])
    if "contiguous" in vector:
        costs, ends = contiguous_table(loom)
        assert [loom.model.shown(cost) for cost in costs] == [Fraction(cost) for cost in vector["contiguous"]["costs"]]
        assert ends == vector["contiguous"]["last"]
    if "ends" in vector:
        assert [one.window.offset for one in loom.workload.requests] == vector["ends"]
    assert certificate(loom.workload).has_quarter is vector.get("has_quarter", False) or "has_quarter" not in vector


@pytest.mark.parametrize("vector", [one for one in vectors("weave_share.json") if "edges" in one.values[0]])
def test_edges_one_by_one(vector: dict[str, Any]) -> None:
    loom, period = loom_of(vector["queries"], "1"), vector["period"]
    found = [
        {at for at in range(1, period + 1) for slide, shift in phases if at % slide == shift}
        for phases in (_mirrored(Window(*query)) for query in vector["queries"])
    ]
    assert [sorted(edges) for edges in found] == vector["edges"]
    assert sorted(found[0] & found[1]) == vector["common"]
    assert loom.rate(loom.tree([0, 1])) == Fraction(len(found[0] | found[1]), period)
    if "union" in vector:
        assert sorted(found[0] | found[1]) == vector["union"]
    if "smaller_probes" in vector:
        assert min(map(len, found)) == vector["smaller_probes"]


def _mirrored(window: Window) -> frozenset[tuple[int, int]]:
    """The phases of the source, whose windows begin at multiples of the slide."""
    return frozenset((slide, -shift % slide) for slide, shift in phases_of(window))


def test_windows_that_begin_and_windows_that_end_at_multiples_cost_the_same() -> None:
    queries = [[12, 9], [10, 6], [7, 5], [13, 4]]
    ends = Loom(numbered([Window(length, slide) for length, slide in queries], 1))
    begins = loom_of(queries, "1")
    for size in (2, 3, 4):
        assert ends.tree(range(size)).cost == begins.tree(range(size)).cost


@pytest.mark.parametrize("vector", vectors("weavability_plans.json"))
def test_two_and_three_levels(vector: dict[str, Any]) -> None:
    queries = [Window(*query) for query in pages("weavability_plans.json")["queries"]][: vector.get("first")]
    workload = numbered(queries, vector["rate"], first=1)
    loom = Loom(workload)
    weave = planner_named("Weave Share").plan(loom, chance())
    assert (numbers(weave), weave.cost) == (vector["weave"], _near(vector["weave_cost"]))
    if "tri" in vector:
        tri = planner_named("TriWeave").plan(Loom(workload, three_levels), chance())
        assert (numbers(tri), tri.cost) == (vector["tri"], _near(vector["tri_cost"]))
        assert numbers(planner_named("TriWeave").plan(loom, chance())) == vector["tri"]
    if "no_share" in vector:
        costs = [planner_named(name).plan(loom, chance()).cost for name in ("No Share", "Shared")]
        assert costs == [_near(vector["no_share"]), _near(vector["shared"])]
    if "composite" in vector:
        assert Fraction(composite_count(workload), workload.space.length) == Fraction(vector["composite"])
        singles = [loom.model.shown(single.cost) - workload.rate for single in loom.singles]
        assert singles == [Fraction(cost) for cost in vector["edge_costs"]]


def _near(figure: str | float) -> Any:
    return Fraction(figure) if isinstance(figure, str) else pytest.approx(figure, abs=5e-5)


@pytest.mark.parametrize("vector", [one for one in vectors("weavability_plans.json") if "gains" in one.values[0]])
def test_gains_of_merges_in_order(vector: dict[str, Any]) -> None:
    queries = [Window(*query) for query in pages("weavability_plans.json")["queries"]][: vector["first"]]
    loom = Loom(numbered(queries, vector["rate"]))
    trees, gains = list(loom.singles), []
    while len(trees) > 1:
        pairs = [(one, other) for at, one in enumerate(trees) for other in trees[at + 1 :]]
        best = max(pairs, key=lambda pair: loom.gain(*pair))
        if loom.gain(*best) <= 0:
            break
        gains.append(loom.model.shown(loom.gain(*best)))
        trees = [*(tree for tree in trees if tree not in best), loom.weave(*best)]
    assert gains == [Fraction(gain) for gain in vector["gains"]]
    assert members(trees) == [[member - 1 for member in tree] for tree in vector["weave"]]


def test_two_windows_that_weave_perfectly() -> None:
    loom = Loom(numbered([Window(6, 2), Window(8, 4)], 3))
    assert edge_rate([(2, 0), (4, 0)]) == Fraction(1, 2)
    assert loom.model.shown(loom.gain(*loom.singles)) == 3 - Fraction(1, 2)
