"""The benchmark of scale on a few files: what is on paper is an archive, and each step tells what the page shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.scale import report
from benchmarks.scale.life import WINDOW, live
from benchmarks.scale.paper import Paper, make
from benchmarks.scale.steps import STEPS, Told, peak_bytes
from benchmarks.scale.view import FILES
from tidewheel.storage.ledger_store import state_of
from tidewheel.storage.snapshot import open_snapshot

PAPER = Paper("few", slots=20, files_a_slot=10)


def measured(folder: Path) -> dict[str, Any]:
    location = make(PAPER, folder)
    state = state_of(open_snapshot(location))
    assert len(state.files) == PAPER.files
    assert len(state.ledger.records) == PAPER.slots
    found: dict[str, Any] = {"files": PAPER.files, "slots": PAPER.slots, "checkpoint_bytes": 1, "ledger_bytes": 1}
    for name, step in STEPS.items():
        told = Told()
        step(told, location)
        found[name] = {**told.values, "peak_bytes": peak_bytes()}
    assert found["audit"]["findings"] == 0
    assert found["probe"]["admitted"] == PAPER.files // PAPER.pieces
    return found


def test_every_step_is_told_on_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.scale.life.LIFE", Paper("short", slots=5, files_a_slot=5))
    values = {
        "machine": {"cores": 1, "processor": "some", "memory_gb": 1.0},
        "papers": {"few": measured(tmp_path / "paper")},
        "life": live(tmp_path / "life", WINDOW),
    }
    monkeypatch.setattr(report, "DOCS", tmp_path)
    report.write_report(values)
    page = (tmp_path / "scale.md").read_text()
    assert "| files | 200 |" in page
    assert "## A long log" in page
    assert "## Limits" in page
    assert (tmp_path / "images" / report.FIGURE).stat().st_size > 0


def test_the_view_is_asked_over_as_many_files_as_it_says() -> None:
    assert FILES.files == 1_000
