"""Set partitioning by a library: the optimum where all trees are considered, never dearer than others where not."""

from __future__ import annotations

import random
import sys

import pytest

from tests.support.models.planning import chance, numbered, random_windows
from tidewheel.indexing.errors import NotInstalled
from tidewheel.queries.planning.catalogue import PLANNERS, planner_named
from tidewheel.queries.planning.loom import Loom
from tidewheel.queries.planning.planners.set_partition import NAME, set_partition
from tidewheel.solver import cheapest_partition

PLANNER = set_partition(cheapest_partition, [one for one in PLANNERS if one.name != "Optimum"])


def test_it_is_the_optimum() -> None:
    pytest.importorskip("highspy")
    draw = random.Random(3)
    for size in (1, 2, 4, 6, 8):
        loom = Loom(numbered(random_windows(draw, size), draw.choice([1, 5, 20])))
        assert PLANNER.plan(loom, chance()).cost == planner_named("Optimum").plan(loom, chance()).cost


def test_of_many_it_is_the_best_of_what_was_considered() -> None:
    pytest.importorskip("highspy")
    loom = Loom(numbered(random_windows(random.Random(4), 25, slide_max=12), 10))
    plan = PLANNER.plan(loom, chance())
    assert sorted(name for tree in plan.trees for name in tree) == sorted(one.name for one in loom.workload.requests)
    for other in PLANNERS:
        if other.requests_max is None or len(loom.singles) <= other.requests_max:
            assert plan.cost <= other.plan(loom, chance()).cost, other.name


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    assert NAME not in {one.name for one in PLANNERS}
    with pytest.raises(NotInstalled, match="highspy is needed for this planner"):
        PLANNER.plan(Loom(numbered(random_windows(random.Random(1), 3), 1)), chance())
