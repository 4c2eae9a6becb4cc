"""The page of published results: a part that is run joins what is known of the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import headlines
from benchmarks.weaving import GRID


def test_a_part_is_run_and_the_others_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headlines, "RESULTS", tmp_path)
    monkeypatch.setattr(headlines, "PAGE", tmp_path / "headlines.md")
    known = {"what": "saved", "published": "80 %", "ours": "79%, 9 trees", "why": GRID}
    kept = {"parts": {"Weave Share": {"rows": [known]}}}
    (tmp_path / "headlines.json").write_text(json.dumps(kept))
    assert headlines.main(["--only", "Edges", "--results", str(tmp_path)]) == 0
    page = (tmp_path / "headlines.md").read_text()
    assert page.index("## Edges") < page.index("## Weave Share")
    assert f"| saved | 80 % | 79%, 9 trees | {GRID} |" in page
    assert "| F1 / Bit Set, time to count edges | 350x to 60,000x |" in page
