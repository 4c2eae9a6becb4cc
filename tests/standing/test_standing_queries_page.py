"""The tutorial is run as it is written, on the demonstration's stream, which is fed here without Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.house.test_docs import BLOCK, ROOT
from tests.support.archives.demo_archive import DemoArchive

PAGE = ROOT / "docs" / "standing-queries.md"
SLOTS = 24


def test_the_tutorial_works_as_written(tmp_path: Path) -> None:
    DemoArchive(tmp_path).feed(SLOTS)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "TERM": "dumb", "COLUMNS": "200"}
    environment.pop("TIDEWHEEL_ARCHIVES", None)
    printed, blocks = "", BLOCK.findall(PAGE.read_text())
    assert blocks[0][1].startswith("tidewheel demo ")
    for language, text in blocks[1:]:
        if language == "text":
            assert text in printed, f"the page shows\n{text}\nbut this was printed:\n{printed}"
            continue
        command = {"bash": ["bash", "-euc", text], "python": [sys.executable, "-c", text]}[language]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
        printed = done.stdout
    assert 'answers."top_talkers"' in (tmp_path / "answers.sql").read_text()


def test_there_are_ten_queries() -> None:
    assert PAGE.read_text().count("[[query]]") == 10
