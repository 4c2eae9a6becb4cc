"""The known answers under tests/vectors: every file has its check, and every figure in it is looked at."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import isqrt
from pathlib import Path
from typing import Any

import pytest

from tidewheel.indexing.core.layouts import Generation, Layout, LayoutKind, Strategy
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.indexing.cost.advisor import QueryLoad, ThesisAdvice, WindowSize, thesis_advice
from tidewheel.indexing.cost.balance import (
    live_cells,
    round_robin_cells,
    round_robin_squared_deviations,
    squared_deviations,
    squared_deviations_mean,
    subindex_cells,
    thesis_chronological_squared_deviations,
)
from tidewheel.indexing.cost.simulation import Simulation
from tidewheel.indexing.cost.workloads import Workload, uniform

FOLDER = Path(__file__).parent.parent / "vectors"
ROUND_ROBIN, CHRONOLOGICAL = LayoutKind.ROUND_ROBIN, LayoutKind.CHRONOLOGICAL


class Vector(dict[str, Any]):
    """A vector that remembers which of its figures were read."""

    def __init__(self, values: dict[str, Any]) -> None:
        super().__init__(values)
        self.unread = set(values) - {"name"}

    def __getitem__(self, key: str) -> Any:
        self.unread.discard(key)
        return super().__getitem__(key)

    def layout(self) -> Layout:
        return Layout(LayoutKind(self["layout"]), self["G"], self["E"], self["span"])


def check_time_model(vector: Vector) -> None:
    axis = TimeAxis(vector["interval"])
    slot = axis.slot_of(vector["ins"])
    assert slot == vector["ins_slot"]
    assert axis.end_us(slot) == vector["update_at"]
    assert axis.expiration_slot_of(vector["exp"]) == vector["exp_slot"]
    assert (vector["exp_slot"] == slot) == vector["short_lived"]
    assert all(vector["ins"] <= at < vector["exp"] for at in vector["live_at"])
    assert not any(vector["ins"] <= at < vector["exp"] for at in vector["dead_at"])


def check_stored_cells(vector: Vector) -> None:
    cells = list(live_cells(vector["span"], vector["update"]))
    assert len(cells) == vector["cells"]
    insertion_slots, expiration_slots = zip(*cells, strict=True)
    assert [min(insertion_slots), max(insertion_slots)] == vector["ins_slots"]
    assert [min(expiration_slots), max(expiration_slots)] == vector["exp_slots"]


def check_touches_2x2(vector: Vector) -> None:
    """For the update of slot 8, round robin: inserts to row 0, expiry from column 0.

            e=0  e=1
    g=0     I1   I2     ← inserts
    g=1     I3   I4
            ↑ expiry
    """
    layout = Layout(LayoutKind(vector["layout"]), 2, 2, span=8)
    axis = TimeAxis(interval_us=2)
    # Unit n of the thesis is [n−1, n) here, so its last arrival before an update at T lies just below T.
    slots = {axis.slot_of(unit - 1) for unit in vector["arrivals"]}
    assert slots == {vector["slot"]}
    assert axis.end_us(vector["slot"]) == vector["update_at"]
    assert axis.expiration_slot_of(vector["update_at"]) == vector["slot"]
    row, column = layout.row_of(vector["slot"]), layout.column_of(vector["slot"])
    inserts = {f"I{row * 2 + e + 1}" for e in range(2)}
    expiry = {f"I{g * 2 + column + 1}" for g in range(2)}
    assert inserts == set(vector["inserts"])
    assert expiry == set(vector["expiry"])
    assert {"I1", "I2", "I3", "I4"} - inserts - expiry == set(vector["untouched"])


def check_classes(vector: Vector) -> None:
    layout = vector.layout()
    assert [layout.row_of(slot) for slot in vector["slots"]] == vector["rows"]
    assert [layout.column_of(slot) for slot in vector["slots"]] == vector["columns"]


def check_touched(vector: Vector) -> None:
    """Counted twice: by classes, and in a simulation of the thesis's rebuild with uniform lifetimes."""
    layout, span = vector.layout(), vector["span"]
    assert vector["subindices"] == layout.insertion_classes * layout.expiration_classes
    batch_columns = {layout.column_of(slot) for slot in range(1, span + 1)}
    expiring_rows = {layout.row_of(slot) for slot in range(-span, 0)}
    assert (len(batch_columns), len(expiring_rows)) == (vector["inserts"], vector["expiry"])
    workload, simulation = (
        Workload(1, 1, uniform(span)),
        Simulation(Generation(1, layout, Strategy.REBUILD)),
    )
    touched = [simulation.update(slot, workload.batch(slot)).touched_subindices for slot in range(3 * span)]
    assert set(touched[span:]) == {vector["touched"]}


def check_touched_minimum(vector: Vector) -> None:
    n = vector["subindices"]
    touched = {(g, n // g): g + n // g - 1 for g in range(1, n + 1) if n % g == 0}
    assert min(touched, key=lambda classes: touched[classes]) == (vector["classes"], vector["classes"])
    assert min(touched.values()) == vector["touched"]


def check_balance_round_robin(vector: Vector) -> None:
    span, n = vector["span"], vector["subindices"]
    layout = Layout(ROUND_ROBIN, isqrt(n), isqrt(n), span)
    expected = {vector["fuller_cells"]: vector["fuller"], vector["other_cells"]: vector["others"]}
    for watermark in range(-span, span):
        counts = subindex_cells(layout, watermark)
        assert squared_deviations(counts) == vector["squared_deviations"]
        assert Counter(counts) == expected
    assert round_robin_cells(span, isqrt(n)) == expected
    assert round_robin_squared_deviations(span, isqrt(n)) == vector["squared_deviations"]


def check_balance_chronological(vector: Vector) -> None:
    span, classes = vector["span"], isqrt(vector["subindices"])
    mean = squared_deviations_mean(Layout(CHRONOLOGICAL, classes, classes, span))
    assert mean == vector["squared_deviations_mean"]
    closed_form = thesis_chronological_squared_deviations(span, classes)
    assert (closed_form == mean) == vector["thesis_form_agrees"]


def check_amplification(vector: Vector) -> None:
    """Counted in simulations of uniform lifetimes, over whole periods of the layout."""
    rows, columns = vector["G"], vector["E"]
    span = 4 * rows * columns
    workload = Workload(1, 1, uniform(span))
    for strategy in Strategy:
        layout = Layout(ROUND_ROBIN, rows, columns, span)
        simulation = Simulation(Generation(1, layout, strategy, dead_share_max=1.0, runs_max=10 * span))
        for slot in range(span):
            simulation.update(slot, workload.batch(slot))
        for slot in range(span, span + rows * columns):
            figures = simulation.update(slot, workload.batch(slot))
            share = Fraction(figures.rewritten_subindices, rows * columns)
            assert share == Fraction(*vector[strategy.value])
            if strategy is Strategy.NO_REBUILD:
                assert figures.written_files <= vector["appended_files_max"]
            if strategy is Strategy.EXPIRE_REBUILD:
                assert max(simulation.run_counts().values()) <= vector["expire_rebuild_runs_max"]
                assert simulation.stored.dead_bytes == 0


def check_drops(vector: Vector) -> None:
    span = vector["span"]
    layout = Layout(ROUND_ROBIN, vector["G"], vector["E"], span)
    workload = Workload(1, 1, uniform(span))
    simulation = Simulation(Generation(1, layout, Strategy(vector["strategy"]), runs_max=span + 1))
    for slot in range(span):
        simulation.update(slot, workload.batch(slot))
    figures = simulation.update(span, None)
    assert (figures.rewritten_subindices > 0) == vector["rewriting"]
    assert (figures.read_bytes > 0) == vector["rewriting"]
    if not vector["rewriting"]:
        assert figures.dropped_runs > 0
        assert simulation.stored.dead_bytes == 0


def check_thesis_advice(vector: Vector) -> None:
    def named(advice: ThesisAdvice) -> list[list[Any]]:
        choices = (advice.choice, *advice.fastest_probes)
        return [[one.strategy.value, one.insertion_classes, one.expiration_classes] for one in choices]

    advice = thesis_advice(WindowSize(vector["size"]), QueryLoad(vector["queries"]))
    assert named(advice) == [vector["choice"], *vector["fastest_probes"]]


CHECKS: dict[str, Callable[[Vector], None]] = {
    "amplification": check_amplification,
    "balance_chronological": check_balance_chronological,
    "balance_round_robin": check_balance_round_robin,
    "classes": check_classes,
    "drops": check_drops,
    "stored_cells": check_stored_cells,
    "thesis_advice": check_thesis_advice,
    "time_model": check_time_model,
    "touched": check_touched,
    "touched_minimum": check_touched_minimum,
    "touches_2x2": check_touches_2x2,
}


def all_vectors() -> Iterator[Any]:
    for name in sorted(CHECKS):
        for values in json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))["vectors"]:
            yield pytest.param(name, values, id=f"{name}: {values['name']}")


@pytest.mark.parametrize(("file", "values"), list(all_vectors()))
def test_vector(file: str, values: dict[str, Any]) -> None:
    vector = Vector(values)
    CHECKS[file](vector)
    assert not vector.unread, f"figures that no check looked at: {sorted(vector.unread)}"


def test_every_file_has_its_check_and_is_not_empty() -> None:
    files = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.iterdir()}
    assert files.keys() == CHECKS.keys()
    assert all(content["about"] and content["vectors"] for content in files.values())


def test_no_vector_is_there_twice() -> None:
    names = Counter(param.id for param in all_vectors())
    assert names
    assert max(names.values()) == 1
