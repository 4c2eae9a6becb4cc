"""The constants of a refresh's cost: measured, written where plans read them, told on the page."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest

from benchmarks.archives.cost_check import medium_text
from benchmarks.harness.store import RESULTS
from benchmarks.standing.refresh_costs import FILE, STAGES, known, lines
from benchmarks.standing.sharing import Sample, fitted, predicted_s, report
from tidewheel.indexing.cost import medium
from tidewheel.queries.planning.measured_model import Amounts, Constants

TRUE = Constants(300, 5e7, 5e6, 40.0, 30.0, 800.0, 15.0, 4e5, 900.0)


def sample(number: int) -> Sample:
    """Amounts that no other has multiples of."""
    sizes = (1, 1e4, 1e4, 1e3, 1e5, 1, 1e3)
    amounts = Amounts(*(size * (1 + number * 7**place % 13) for place, size in enumerate(sizes)))
    one = Sample(8, 1000 * number, 1, "By Group", 3, 1.0, amounts)
    return Sample(8, 1000 * number, 1, "By Group", 3, predicted_s(one, TRUE), amounts)


def test_every_constant_is_of_one_stage_and_of_the_medium() -> None:
    names = [name for some in STAGES.values() for name in some]
    assert sorted(names) == sorted(one.name for one in fields(Constants) if one.name != "refresh")
    found = known(RESULTS)["constants_ns"]
    assert {name: getattr(medium, name.upper()) for name in names} == pytest.approx(found, rel=1e-3)


def test_what_was_found_is_adopted_and_told(tmp_path: Path) -> None:
    assert list(lines(tmp_path)) == []
    samples = [sample(number) for number in range(1, 40)]
    constants = fitted(samples, {"written_ns": 800.0, "answer_ns": 900.0})
    found = report(samples, samples[:3], constants)
    assert found["error_median"] < 0.01
    (tmp_path / FILE).write_text(json.dumps(found))
    told = "\n".join(lines(tmp_path))
    assert "fitted to 39 refreshed plans" in told
    assert all(f"| {stage} |" in told for stage in STAGES)
    assert "| 8 | 2,000 | By Group |" in told
    values = {"fitted_to": "1 contender in 1 race", "constants": {"update_seconds": 0.1}}
    text = medium_text(values, found["constants_ns"], {"cores": 2, "processor": "a processor"})
    written: dict[str, float] = {}
    exec(text, written)
    assert (written["CORES"], written["UPDATE_SECONDS"]) == (2, 0.1)
    assert written["TREE_NS"] == pytest.approx(found["constants_ns"]["tree_ns"], rel=1e-3)
