"""The planners on the pinned random workloads of the literature's studies: costs, ratios, orders."""

from __future__ import annotations

from itertools import pairwise
from statistics import mean
from typing import Any

import pytest

from benchmarks.literature.placements import placed
from benchmarks.literature.reference_workload import reference, reference_windows
from tests.support.models.planning import chance, numbered, pages
from tidewheel.queries.literature.planning.effort import counted_weave
from tidewheel.queries.literature.planning.incremental_weave import rewoven
from tidewheel.queries.planning.catalogue import planner_named
from tidewheel.queries.planning.cost_model import three_levels
from tidewheel.queries.planning.loom import Loom
from tidewheel.queries.windows import Window

PAGE = pages("reference_plans.json")


def cost(name: str, loom: Loom) -> float:
    return float(planner_named(name).plan(loom, chance()).cost)


@pytest.mark.parametrize("vector", PAGE["vectors"], ids=lambda one: f"{one['size']} at {one['rate']}")
def test_pinned_costs(vector: dict[str, Any]) -> None:
    loom = Loom(reference(vector["size"], vector["rate"]))
    plan = planner_named("Weave Share").plan(loom, chance())
    # The figures are printed to three digits.
    assert float(plan.cost) == pytest.approx(vector["weave"], abs=6e-4)
    assert len(plan.trees) == vector["trees"]
    assert cost("Shared", loom) == pytest.approx(vector["shared"], abs=6e-4)
    assert cost("No Share", loom) == pytest.approx(vector["no_share"], abs=6e-4)


@pytest.mark.parametrize("vector", PAGE["beginnings"], ids=lambda one: one["size"])
def test_the_workload_is_the_pinned_one(vector: dict[str, Any]) -> None:
    windows = reference_windows(vector["size"], 1)
    assert [[one.length, one.slide] for one in windows[:3]] == vector["windows"]
    assert sum(one.length / one.slide for one in windows) == pytest.approx(vector["overlaps"], abs=1e-4)
    alone = cost("No Share", Loom(reference(vector["size"], 50)))
    assert alone - 50 * vector["size"] == pytest.approx(vector["final"], abs=1e-4)


def test_the_published_order_of_planners() -> None:
    loom = Loom(reference(250, 50))
    costs = {name: cost(name, loom) for name in ("Settle", "Weave Share", "Insert-then-Weave", "Shared", "No Share")}
    assert sorted(costs, key=lambda name: costs[name])[:2] == ["Settle", "Weave Share"]
    assert costs["No Share"] == max(costs.values())
    assert costs["Settle"] < 0.96 * costs["Weave Share"]


@pytest.mark.parametrize(
    ("size", "rate", "most"),
    [(500, 300, 0.97), *(pytest.param(*one, marks=pytest.mark.nightly) for one in ((1000, 50, 0.98), (1000, 300, 0.95),
                                                                                   (2000, 300, 1.01)))],
)  # fmt: skip
def test_settling_many_queries_costs_little_more_than_weaving_all_pairs(size: int, rate: int, most: float) -> None:
    loom = Loom(reference(size, rate))
    assert cost("Settle", loom) <= most * cost("Weave Share", loom)


def test_a_changed_query_leaves_the_other_trees() -> None:
    workload = reference(200, 50)
    before = planner_named("Weave Share").plan(Loom(workload), chance())
    windows = [Window(7200, 600) if at == 77 else one.window for at, one in enumerate(workload.requests)]
    loom = Loom(numbered(windows, 50, first=1))
    old = [tuple(name.removeprefix("q") for name in tree if name != "q78") for tree in before.trees]
    trees = rewoven(loom, old)
    names = {tuple(loom.workload.requests[member].name for member in tree.members) for tree in trees}
    assert len({tuple(sorted(tree, key=int)) for tree in old} - names) <= 2


@pytest.mark.nightly
@pytest.mark.parametrize("vector", PAGE["ratios"], ids=lambda one: f"{one['size']} at {one['rate']}")
def test_mean_ratios(vector: dict[str, Any]) -> None:
    ratios = []
    for seed in range(1, 6 if vector["size"] < 1000 else 4):
        loom = Loom(reference(vector["size"], vector["rate"], seed))
        ratios.append(cost("Weave Share", loom) / cost("Shared", loom))
    assert mean(ratios) == pytest.approx(vector["mean"], abs=3 * vector["deviation"])


@pytest.mark.nightly
def test_each_way_to_weave_saves_probes() -> None:
    """Published: ten times each. The last figure is pinned; the others depend on readings."""
    trees, probes = counted_weave(Loom(reference(250, 100, overlap_max=10, skew=0.7)))
    counted = [probes[way] for way in ("naive", "Cost Lookup", "Edges Bitmap", "smaller probes larger")]
    assert all(more > 5 * fewer for more, fewer in pairwise(counted))
    assert counted[-1] == pytest.approx(2.3e5, rel=0.01)
    assert len(trees) == 2


@pytest.mark.nightly
def test_the_grid_of_placements() -> None:
    """All 256 workloads of the publication: WG_TN has the lowest mean total, WG_I the lowest mean maximum."""
    totals, mosts = placed()
    print({name: (round(mean(totals[name]), 2), round(mean(mosts[name]), 2)) for name in totals})
    assert min(totals, key=lambda name: mean(totals[name])) == "WG_TN"
    assert min(mosts, key=lambda name: mean(mosts[name])) == "WG_I"


@pytest.mark.nightly
def test_three_levels_win_where_records_are_many() -> None:
    for rate in (300, 2000):
        workload = reference(250, rate)
        assert cost("TriWeave", Loom(workload, three_levels)) < cost("Weave Share", Loom(workload))
