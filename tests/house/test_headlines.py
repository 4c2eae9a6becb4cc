"""The page of published results: every figure that is counted is computed again, and can come out otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.literature import (
    costs,
    edges,
    headlines,
    placements,
    schedules,
    states,
    techniques,
    update_patterns,
    weaving,
    window_joins,
)
from benchmarks.literature.headline import Headline
from tests.house.test_docs import ROOT
from tidewheel.queries.literature.planning.effort import SMALLER

PAGE = ROOT / "docs" / "headlines.md"
ROWS = [row for part in headlines.PARTS.values() for row in part()]
COUNTED = [pytest.param(row, id=row.what, marks=[pytest.mark.nightly] * row.slow) for row in ROWS if row.counted]
MODULES = (costs, edges, placements, schedules, states, techniques, update_patterns, weaving, window_joins)
# By which of its names a row takes what it compares.
LOOKUPS = (
    "technique_named",
    "planner_named",
    "optimizer_named",
    "scheduler_named",
    "divisors_named",
    "levels_of",
    "ordering_named",
    "join_named",
    "approach_named",
)


def shown() -> dict[str, list[str]]:
    """The page's rows by what they are about."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert all(len(row) == len(headlines.COLUMNS) for row in rows)
    return {row[0]: row for row in rows if row[0] != "what"}


def test_the_page_has_every_row_and_no_other() -> None:
    page = shown()
    assert list(page) == [row.what for row in ROWS]
    for row in ROWS:
        _, published, counted, timed, why = page[row.what]
        assert (published, why) == (row.published, row.why), row.what
        assert (bool(counted), bool(timed)) == (row.counted is not None, row.timed is not None), row.what
        assert row.counted is None or (row.subject and row.rival), row.what


@pytest.mark.parametrize("row", COUNTED)
def test_a_figure_that_is_counted_is_the_pages(row: Headline) -> None:
    assert row.counted is not None
    assert row.counted() == shown()[row.what][2]


@pytest.mark.parametrize("row", COUNTED)
def test_a_row_can_fail(row: Headline, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the rival in the place of what the row is about, the figure is another one."""
    for place, value in _taken_by_name(row):
        monkeypatch.setattr(*place, value)
    assert row.counted is not None
    assert row.counted() != shown()[row.what][2]


def _taken_by_name(row: Headline) -> Iterator[tuple[tuple[Any, str], Any]]:
    for module in MODULES:
        for name in LOOKUPS:
            if hasattr(module, name):
                yield (module, name), _instead(getattr(module, name), row)
    # The ways to weave are counted all at once, and told apart by constants.
    for name, value in vars(weaving).items():
        if value == row.subject and row.subject == SMALLER:
            yield (weaving, name), row.rival


def _instead(look_up: Callable[[str], Any], row: Headline) -> Callable[[str], Any]:
    return lambda name: look_up(row.rival if name == row.subject else name)


def test_a_part_is_run_and_the_others_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headlines, "RESULTS", tmp_path)
    monkeypatch.setattr(headlines, "PAGE", tmp_path / "headlines.md")
    known = {"what": "saved", "published": "80 %", "counted": "79%, 9 trees", "timed": "", "why": weaving.GRID}
    kept = {"parts": {"Weave Share": {"rows": [known]}}}
    (tmp_path / "headlines.json").write_text(json.dumps(kept))
    assert headlines.main(["--only", "Edges", "--results", str(tmp_path)]) == 0
    page = (tmp_path / "headlines.md").read_text()
    assert page.index("## Edges") < page.index("## Weave Share")
    assert f"| saved | 80 % | 79%, 9 trees |  | {weaving.GRID} |" in page
    assert "| F1 / Bit Set, edges of one set of slides | 350x to 60,000x, of whole plans |  |" in page
