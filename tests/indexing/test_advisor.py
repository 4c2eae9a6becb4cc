"""The advisor against the long way: every candidate simulated."""

from __future__ import annotations

import json
from functools import cache

import pytest

from tidewheel.indexing.core.layouts import Strategy
from tidewheel.indexing.cost import advisor
from tidewheel.indexing.cost.advisor import Advice, Constraints, advise, candidate_generations
from tidewheel.indexing.cost.model import MEASURED_MEDIUM, Method, predict
from tidewheel.indexing.cost.workloads import Workload, bimodal, constant, heavy_tailed, uniform

LOADS = {
    "uniform": Workload(14_000, 14e6, uniform(12)),
    "many probes": Workload(14_000, 14e6, uniform(12), probes=200),
    "scans": Workload(14_000, 14e6, uniform(10), scans=5),
    "large": Workload(1_400_000, 1.4e9, uniform(8), probes=1),
    "heavy": Workload(14_000, 14e6, heavy_tailed(16), probes=20),
    "bimodal": Workload(14_000, 14e6, bimodal(2, 15, 0.3), probes=20),
    "constant": Workload(14_000, 14e6, constant(9), probes=20),
    "span 1": Workload(10, 1e4, uniform(1)),
}


@cache
def advised(name: str) -> Advice:
    """What several tests look at: each takes a second to work out."""
    return advise(LOADS[name])


@pytest.mark.parametrize("name", LOADS)
def test_the_best_is_the_best_of_all_candidates_simulated(name: str) -> None:
    load = LOADS[name]
    generations = list(candidate_generations(load.span))
    seconds = [MEASURED_MEDIUM.times(predict(load, one), load).workload_seconds for one in generations]
    advice = advised(name)
    assert advice.considered == len(generations)
    assert advice.best.times.workload_seconds == pytest.approx(min(seconds))


def test_the_same_question_has_the_same_answer() -> None:
    assert advise(LOADS["bimodal"]) == advised("bimodal")


def test_candidates_come_cheapest_first_and_say_why() -> None:
    candidates = advised("many probes").candidates
    seconds = [one.times.workload_seconds for one in candidates]
    assert seconds == sorted(seconds)
    for one in candidates:
        layout = one.generation.layout
        assert one.reason.startswith(
            f"{one.generation.strategy.value} {layout.insertion_classes}×{layout.expiration_classes} "
        )


def test_the_grid_holds_small_layouts_of_every_strategy_and_a_column_per_slot() -> None:
    generations = list(candidate_generations(1000))
    shapes = {(one.strategy, one.layout.insertion_classes, one.layout.expiration_classes) for one in generations}
    assert {(strategy, 1, 1) for strategy in Strategy} <= shapes
    assert {(strategy, 4, 4) for strategy in Strategy} <= shapes
    assert (Strategy.EXPIRE_REBUILD, 1, 1000) in shapes
    assert any(one.runs_max > 1000 for one in generations)
    assert len(set(generations)) == len(generations)


def test_many_probes_want_faster_ones_than_none() -> None:
    few, many = advised("uniform").best, advised("many probes").best
    assert many.times.probe_seconds < few.times.probe_seconds


def test_constraints_are_met_where_they_can_be() -> None:
    constraints = Constraints(probe_seconds_max=0.015, stored_files_max=30, dead_share_max=0.0)
    best = advise(LOADS["uniform"], constraints).best
    assert best.misses == ()
    assert best.times.probe_seconds <= 0.015
    assert best.prediction.stored_files <= 30
    assert best.prediction.dead_bytes == 0


def test_a_bound_on_dead_bytes_rides_in_the_generation() -> None:
    for one in candidate_generations(8, Constraints(dead_share_max=0.1)):
        assert one.dead_share_max == 0.1


def test_what_nothing_can_meet_is_said_and_by_how_much() -> None:
    best = advise(LOADS["uniform"], Constraints(probe_seconds_max=0.001, stored_files_max=0)).best
    assert len(best.misses) == 2
    assert "above 1 ms" in best.misses[0]
    assert "above 0" in best.misses[1]
    assert all(missed in best.reason for missed in best.misses)


def test_a_long_span_is_left_to_the_closed_forms() -> None:
    advice = advise(Workload(14_000, 14e6, uniform(1000), probes=5))
    assert {one.prediction.method for one in advice.candidates} == {Method.CLOSED_FORM}
    assert len(advice.candidates) == advisor.FINALISTS


def test_advice_is_json() -> None:
    advice = advised("heavy")
    values = json.loads(json.dumps(advice.to_json()))
    assert values["considered"] == advice.considered
    first = values["candidates"][0]
    assert first["generation"] == json.loads(json.dumps(advice.best.generation.to_json()))
    assert first["prediction"]["probe_files"] == advice.best.prediction.probe_files
    assert first["times"]["update_seconds"] == advice.best.times.update_seconds
