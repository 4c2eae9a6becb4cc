"""The race of standing queries at a size of seconds: run, compared, kept and told."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.report import write_report
from benchmarks.results import Results
from benchmarks.standing.goals import EXPERIMENT, standing_goals
from benchmarks.standing.race import Race
from benchmarks.standing.rivals import RIVALS
from benchmarks.standing.section import lines_of, section
from benchmarks.standing.stream import Size
from benchmarks.store import Store

TINY = Size("quick", rows=30, slots=16, queries=12, measured=2, many_groups=30, growth=(2, 4))


def test_a_tiny_race_is_run_compared_kept_and_told(tmp_path: Path) -> None:
    found = Race(TINY, tmp_path / "work").run()
    assert {one.name for one in RIVALS} | {"ours"} == found["contenders"].keys()
    assert all(len(one["refresh"]) == TINY.measured for one in found["contenders"].values())
    assert all("all due" in line or line for line in lines_of(found))
    Store("quick", tmp_path / "results").put_experiment(EXPERIMENT, found)
    results = Results(tmp_path / "results")
    goals = list(standing_goals(results))
    assert len(goals) == len({one.name for one in goals}) == 11
    assert all(one.value is not None for one in goals)
    page = section(results)
    assert all(one.name in page for one in RIVALS)
    assert "| all due |" in page
    assert len(list(write_report(tmp_path / "results"))) > len(goals)
    told = json.loads((tmp_path / "results" / "ratios.json").read_text())
    assert {one.name for one in goals} <= {one["name"] for one in told}
