"""The worked examples of the literature: state, answers and operations of every technique after every slide."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tidewheel.queries.choice import TECHNIQUES, technique_named
from tidewheel.queries.operation import Column, Operation
from tidewheel.queries.operations.chosen import arg_max_by_arrival
from tidewheel.queries.operations.extremes import MAX
from tidewheel.queries.operations.whole_sums import whole_sum
from tidewheel.queries.technique import Technique
from tidewheel.queries.techniques.flat_fat import FlatFAT
from tidewheel.queries.techniques.flat_fit import FlatFIT

VECTORS = json.loads(
    (Path(__file__).parent.parent / "query_vectors/technique_traces.json").read_text(encoding="utf-8")
)["vectors"]
CONCATENATION = Operation(
    "concatenation", str, str.__add__, (Column("text", "VARCHAR"),), identity="", commutative=False
)
OPERATIONS = {
    "max": replace(MAX, identity=-math.inf),
    "sum": whole_sum(),
    "concatenation": CONCATENATION,
}


def slots(technique: Any) -> str:
    return " ".join(f"{number % technique.size}:{partial}" for number, partial in technique.nodes)


def queued(technique: Any) -> list[Any]:
    return [technique.folds[position % len(technique.folds)] for position in range(technique.f, technique.e)]


VIEWS = {
    "slots": slots,
    "queued": queued,
    "nodes": lambda technique: technique.tree[1:],
    "positions": lambda technique: list(technique.positions()),
}


def seen(technique: Technique, view: str) -> Any:
    found = VIEWS[view](technique) if view in VIEWS else getattr(technique, view)
    return json.loads(json.dumps(found).replace("-Infinity", "null"))


def make(vector: dict[str, Any]) -> Technique:
    counts = [*vector["ranges"], vector["n"]] if vector["technique"] != "FlatFIT" else vector["ranges"]
    options = vector.get("options", {})
    return technique_named(vector["technique"])(OPERATIONS[vector["operation"]], counts, checked=True, **options)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_trace(vector: dict[str, Any]) -> None:
    technique = make(vector)
    ranges = [str(count) for count in vector["ranges"]]
    trace: dict[str, Any] = {"answers": {k: [] for k in ranges}, "calls": {k: [] for k in ranges}}
    trace |= {"insert_calls": [], "calls_per_slide": [], "states": {view: [] for view in vector.get("states", {})}}
    for slide, partial in enumerate(vector["stream"], 1):
        before = technique.calls
        technique.insert(partial)
        trace["insert_calls"].append(technique.calls - before)
        for k in ranges:
            asked = technique.calls
            trace["answers"][k].append(technique.query(int(k)))
            trace["calls"][k].append(technique.calls - asked)
        trace["calls_per_slide"].append(technique.calls - before)
        for view, states in trace["states"].items():
            states.append(seen(technique, view))
        for name, state in vector.get("state_after", {}).get(str(slide), {}).items():
            assert seen(technique, name) == state
    trace["calls_total"] = {k: sum(calls) for k, calls in trace["calls"].items()}
    trace["last_state"] = {name: seen(technique, name) for name in vector.get("last_state", {})}
    read = {key: trace[key] for key in vector if key in trace}
    assert read == {key: vector[key] for key in read}
    known = {"name", "technique", "operation", "n", "ranges", "options", "stream", "state_after", "naive_calls_total"}
    assert vector.keys() <= read.keys() | known, "a figure that nobody looks at"


def test_naive_costs_what_the_example_says() -> None:
    (vector,) = (vector for vector in VECTORS if "naive_calls_total" in vector)
    for count, total in vector["naive_calls_total"].items():
        naive = technique_named("Panes")(OPERATIONS["max"], [5])
        for partial in vector["stream"]:
            naive.insert(partial)
            naive.query(int(count))
        assert naive.calls == total


def test_there_is_a_trace_of_every_technique_of_its_own() -> None:
    assert {vector["technique"] for vector in VECTORS} == {technique.name for technique in TECHNIQUES} - {
        "Panes",  # the oracle
        "Panes (Inv)",  # SlickDeque (Inv) with one range
    }


@pytest.mark.parametrize(("newest_wins", "expected"), [(False, "a"), (True, "b")])
def test_v8_ties_go_where_the_operation_says(newest_wins: bool, expected: str) -> None:
    operation = arg_max_by_arrival(newest_wins)
    for name in ("FlatFIT", "FlatFAT", "B-Int", "SlickDeque (Non-Inv)"):
        technique = technique_named(name)(operation, [2])
        for partial in ((5, "a"), (5, "b")):
            technique.insert(partial)
        assert technique.query(2) == (5, expected)


def test_v1_flat_fit_jumps_where_answers_passed() -> None:
    """A window of 12 at slot 5: a range of 9 starts at slot 8 and takes two jumps."""
    technique = FlatFIT(OPERATIONS["max"], [12])
    technique.current, technique.next[8], technique.next[1] = 5, 1, 5
    assert technique._way((5 - 9) % 12) == [8, 1]


def test_v6_flat_fat_covers_a_range_by_few_nodes() -> None:
    assert FlatFAT(OPERATIONS["max"], [16]).cover(5, 16) == [21, 11, 3]
