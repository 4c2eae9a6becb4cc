"""Trees on several nodes: the thirteen optimizers against the published examples, and what holds of all."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest

from tests.support.models.planning import chance, numbered, pages, random_windows, vectors
from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.placement.optimizers import OPTIMIZERS, optimizer_named
from tidewheel.queries.literature.placement.placed_nodes import Objective, Setting
from tidewheel.queries.planning.catalogue import planner_named
from tidewheel.queries.planning.loom import Loom
from tidewheel.queries.windows import Window


@pytest.mark.parametrize("vector", vectors("placements.json"))
def test_vectors(vector: dict[str, Any]) -> None:
    queries = [Window(*query) for query in pages("placements.json")["queries"]]
    loom = Loom(numbered(queries, vector["rate"], first=1))
    setting = Setting(
        nodes=2,
        draw=chance(),
        objective=Objective(vector.get("objective", "balance")),
        stop_at_nodes=vector.get("stop_at_nodes", False),
        shuffled=False,
    )
    placed = optimizer_named(vector["name"]).place(loom, setting)
    if "nodes" in vector:
        assert [[[int(name) for name in tree] for tree in node] for node in placed.nodes] == vector["nodes"]
        assert placed.costs == pytest.approx(vector["costs"], abs=5e-5)
    else:
        assert (placed.total, placed.most) == pytest.approx((vector["total"], vector["most"]), abs=5e-5)


def test_every_placement_is_a_partition_and_costs_what_its_trees_cost() -> None:
    assert len(OPTIMIZERS) == 13
    draw = random.Random(81)
    for _ in range(40):
        windows = random_windows(draw, draw.randint(1, 9))
        loom = Loom(numbered(windows, draw.choice(["1/2", "2", "10"])))
        nodes = draw.randint(1, 4)
        for optimizer in OPTIMIZERS:
            for alike_first in (False, True):
                placed = optimizer.place(loom, Setting(nodes, chance(), alike_first=alike_first))
                trees = [tree for node in placed.nodes for tree in node]
                assert len(placed.nodes) == nodes
                assert sorted(name for tree in trees for name in tree) == sorted(str(at) for at in range(len(windows)))
                cost = loom.cost_of(loom.tree(sorted(int(name) for name in tree)) for tree in trees)
                assert placed.total == loom.model.shown(cost)
                if optimizer.name.startswith("W_"):
                    assert all(len(node) <= 1 for node in placed.nodes)


def test_on_one_node_weaving_and_grouping_is_weave_share() -> None:
    draw = random.Random(82)
    for _ in range(50):
        loom = Loom(numbered(random_windows(draw, 8), 3))
        placed = optimizer_named("WG_TN").place(loom, Setting(1, chance()))
        assert placed.total == planner_named("Weave Share").plan(loom, chance()).cost


def test_means_of_small_workloads_are_in_the_published_order() -> None:
    """WG_TN costs least in all, WG_I has the lowest maximum; the whole grid is measured by a nightly test."""
    totals: dict[str, float] = dict.fromkeys((one.name for one in OPTIMIZERS), 0.0)
    mosts = dict(totals)
    for seed in range(4):
        draw = random.Random(83 + seed)
        windows = [Window(slide * draw.randint(1, 10), slide) for slide in (draw.randint(1, 12) for _ in range(120))]
        loom = Loom(numbered(windows, 10))
        placed = {one.name: one.place(loom, Setting(8, chance(seed))) for one in OPTIMIZERS}
        best_total, best_most = min(p.total for p in placed.values()), min(p.most for p in placed.values())
        for name, one in placed.items():
            totals[name] += float(one.total / best_total)
            mosts[name] += float(one.most / best_most)
    assert min(totals, key=lambda name: totals[name]) == "WG_TN"
    assert min(mosts, key=lambda name: mosts[name]) == "WG_I"


def test_no_nodes_is_refused() -> None:
    with pytest.raises(InvalidInput, match="at least one node"):
        Setting(0, chance())
    with pytest.raises(InvalidInput, match="there are G_RAND"):
        optimizer_named("BEST")
    empty = optimizer_named("WG_I").place(Loom(numbered([], 1)), Setting(3, chance()))
    assert (empty.nodes, empty.total, empty.most) == (((), (), ()), Fraction(0), Fraction(0))
