"""The class of each edge: as the literature says it, and as it shows when plans are run."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tests.support.models.planning import vectors
from tests.support.models.statement_plans import built, pattern_seen, random_notation
from tidewheel.queries.statements.labels import Carrier, Pattern, label, labelled, output_label
from tidewheel.queries.statements.legality import faults
from tidewheel.queries.statements.plan import TimeWindow, windows
from tidewheel.queries.statements.statement import Statement


@pytest.mark.parametrize("vector", vectors("labels.json"))
def test_labels_of_the_literature(vector: dict[str, Any]) -> None:
    plan = built(vector["plan"])
    if "fault" in vector:
        assert vector["fault"] in list(faults(Statement(plan)))
        return
    assert str(label(plan)) == vector["label"]
    if "inputs" in vector:
        assert [str(one.label) for one in labelled(plan).inputs] == vector["inputs"]
    if "output" in vector:
        assert str(output_label(plan)) == vector["output"]


# The shapes of plans, alone and put together.
SHAPES = [
    ["select", "W5"],
    ["project", "W5"],
    ["union", "W5", "W5"],
    ["union", "W5", "W8"],
    ["join", "W5", "W5"],
    ["join", "W5", "W8"],
    ["nrr", "W5"],
    ["relation", "W5"],
    ["distinct", "W5"],
    ["counters", "W5"],
    ["antijoin", "W5", "W5"],
    ["except", "W5", "W5"],
    ["group", "W5"],
    ["select", "C3"],
    ["select", "P2"],
    ["select", "predicate"],
    ["distinct", "S"],
    ["union", "S", "S"],
    ["union", "S", "W5"],
    ["join", "S", "S"],
    ["antijoin", "S", "S"],
    ["select", ["union", ["select", "W5"], "W5"]],
    ["join", ["union", "W5", "W8"], "W5"],
    ["join", ["join", "W5", "W8"], "W5"],
    ["distinct", ["join", "W5", "W5"]],
    ["distinct", ["distinct", "W5"]],
    ["join", ["distinct", "W5"], "W5"],
    ["antijoin", ["join", "W5", "W5"], "W5"],
    ["join", ["antijoin", "W5", "W5"], "W5"],
    ["distinct", ["antijoin", "W5", "W5"]],
    ["union", "W5", ["except", "W5", "W5"]],
    ["group", ["join", "W5", "W5"]],
    ["join", "C3", "W5"],
    ["distinct", "C3"],
    ["nrr", ["join", "W5", "W5"]],
    ["select", "I5"],
    ["join", "I5", "I5"],
    ["join", "W5", "I5"],
    ["union", "W5", "I5"],
    ["group", "I5"],
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_labels_are_the_classes_found_by_running(shape: Any) -> None:
    plan = built(shape)
    internal = any(isinstance(one, TimeWindow) and one.internal for one in windows(plan))
    expected, seen = output_label(plan).pattern, Pattern.MON
    for seed in range(60):
        seen = max(seen, pattern_seen(plan, Random(seed), internal=internal))
        if seen >= expected and seed >= 5:
            break
    assert seen == expected


def _found(seed: int, depth: int, runs: int) -> tuple[Pattern, Pattern]:
    """Return the label of a random plan and the most complex class that its runs show."""
    chance = Random(seed)
    plan = built(random_notation(chance, depth))
    expected, seen = label(plan).pattern, Pattern.MON
    for _ in range(runs):
        seen = max(seen, pattern_seen(plan, chance))
        if seen >= expected:
            break
    return expected, seen


def _check(seeds: range, depth: int, runs: int) -> None:
    found = {seed: _found(seed, depth, runs) for seed in seeds}
    assert [seed for seed, (said, seen) in found.items() if seen > said] == []
    assert sum(said == seen for said, seen in found.values()) >= 0.95 * len(found)


def test_labels_of_random_plans_are_true_and_nearly_always_the_simplest() -> None:
    _check(range(80), depth=2, runs=20)


@pytest.mark.nightly
def test_labels_of_a_thousand_random_plans() -> None:
    _check(range(1000, 2200), depth=3, runs=40)


def test_each_class_has_its_carrier_and_its_words() -> None:
    carriers = {one: label(built(one)).carrier for one in ("S", "W5", "C3")}
    assert carriers == {"S": Carrier.APPEND, "W5": Carrier.EXP, "C3": Carrier.NEG}
    group = built(["select", ["group", "W5"]])
    assert [one.label.carrier for one in (labelled(group), *labelled(group).inputs)] == [Carrier.NEG, Carrier.REPLACE]
    assert [one.words for one in Pattern] == ["append-only", "fixed lifetime", "variable lifetime", "needs corrections"]


def test_the_operator_that_raised_the_class_is_told() -> None:
    plan = built(["select", ["distinct", ["antijoin", "W5", "W5"]]])
    assert label(plan).raised_by.title == "▷ NOT EXISTS A.k = B.k"
    assert label(built(["select", ["join", "W5", "W8"]])).raised_by.title == "⋈ A.k = B.k"
