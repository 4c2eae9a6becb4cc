"""The race of standing queries at a size of seconds: run, compared, kept and told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.archives.feeding import feed
from benchmarks.harness.report import write_report
from benchmarks.harness.results import Results
from benchmarks.harness.store import Store
from benchmarks.standing.course import Course
from benchmarks.standing.goals import EXPERIMENT, UNFINISHED, standing_goals
from benchmarks.standing.oracle import nothing_empty, same
from benchmarks.standing.ours import Ours
from benchmarks.standing.race import Race, wrong_answers
from benchmarks.standing.rivals import RIVALS
from benchmarks.standing.section import lines_of, section
from benchmarks.standing.stream import AXIS, SLOT_ZERO, Size, batch, due, queries

TINY = Size(
    "quick", rows=20, slots=40, queries=8, measured=1, many_groups=30, growth=(2, 3),
    kernel_rows=4000, kernel_sizes=(16, 256), windows_hours=(1, 2), history=4,
)  # fmt: skip


@pytest.mark.nightly
def test_a_tiny_race_is_run_compared_kept_and_told(tmp_path: Path) -> None:
    store = Store("quick", tmp_path / "results")
    kept: list[int] = []

    def keep(found: dict[str, object]) -> None:
        store.put_experiment(UNFINISHED, found)
        kept.append(len(found["contenders"]))  # type: ignore[arg-type]

    rivals = [one for one in RIVALS if "quick" in one.sizes]
    found = Race(TINY, tmp_path / "work", keep=keep).run()
    assert {one.name for one in rivals} | {"ours"} == found["contenders"].keys()
    assert kept[0] == 1
    assert wrong_answers(found) == []
    assert not [one["missing"] for one in found["contenders"].values() if one.get("missing", "").startswith("failed")]
    assert all(len(one["refresh"]) == TINY.measured for one in found["contenders"].values() if "missing" not in one)
    again = Race(TINY, tmp_path / "again", json.loads(store.path.read_text())["experiments"][UNFINISHED]).run()
    assert again["contenders"]["ours"]["late"]["reports"] == found["contenders"]["ours"]["late"]["reports"]
    store.finish_experiment(UNFINISHED, EXPERIMENT, found)
    results = Results(tmp_path / "results")
    goals = list(standing_goals(results))
    assert len(goals) == len({one.name for one in goals})
    assert all(one.value is not None for one in goals if "windows of" not in one.name)  # what libraries are there
    page = section(results)
    assert all(one.name in page for one in rivals)
    assert "one key forgotten" in page
    assert any("all due" in line for line in lines_of(found))
    assert any("windows" in line and "2 h" in line for line in lines_of(found))
    assert len(list(write_report(tmp_path / "results"))) > len(goals)
    told = json.loads((tmp_path / "results" / "ratios.json").read_text())
    assert {one.name for one in goals} <= {one["name"] for one in told}


def test_the_oracle_is_not_easily_content() -> None:
    course = Course(TINY, queries(TINY), SLOT_ZERO, TINY.measured)
    course.work_out()
    late, replayed = (nothing_empty(course.truth[name]) for name in ("late", "replay"))
    assert same(late, late) == []
    assert same({key: late[key] for key in late.keys() & replayed.keys()}, replayed)
    assert course.asked_for["replay"]


@pytest.mark.nightly
def test_many_queries_are_raced_and_shared(tmp_path: Path) -> None:
    size = replace(TINY, slots=90, many_queries=14, many_measured=2)
    found = Race(size, tmp_path / "work", rivals=RIVALS[:4]).run()
    assert found["many"]["ours"]["queries"] == 14
    assert found["sharing"]["No Share"]["trees"] > found["sharing"]["planned"]["trees"]
    assert {"sums, kernels", "maxima, SlickDeque (Non-Inv)"} <= found["techniques"].keys()
    assert any("14 queries" in line for line in lines_of(found))


@pytest.mark.nightly
@pytest.mark.parametrize("make", [one for one in RIVALS if "quick" not in one.sizes], ids=lambda one: one.__name__)
def test_contenders_that_take_long_answer_rightly(make: type, tmp_path: Path) -> None:
    course = Course(TINY, queries(TINY), SLOT_ZERO, TINY.measured)
    course.work_out()
    found = Race(TINY, tmp_path / "race")._rival(make, course)
    assert found.get("refresh") or "uv pip install" in found["missing"], found


def test_what_is_measured_of_a_slot_is_what_falls_due_in_it(tmp_path: Path) -> None:
    """The first refresh leaves nothing behind, not even of windows that begin before the first slot."""
    size = Size("quick", rows=5, slots=20, queries=40, measured=2, revise_minutes=10)
    asked = [query for query in queries(size) if (query.terms.window_us or 0) <= 12 * AXIS.interval_us]
    measured = range(SLOT_ZERO - size.measured, SLOT_ZERO)
    ours = Ours(tmp_path, size, asked, SLOT_ZERO - size.slots)
    ours.load(range(ours.first, measured.start))
    ours.refresh()
    for slot in measured:
        feed(ours.job, [slot], batch(size, slot))
        wanted = len(list(due(asked, AXIS.start_us(slot), AXIS.end_us(slot))))
        assert ours.refresh()["reports"] == wanted > 0
