"""The tutorial is carried out as it is written, up to the Airflow that it hands the archive to."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.house.test_docs import BLOCK, ROOT

PAGE = ROOT / "docs" / "tutorial.md"


@pytest.mark.nightly
def test_the_tutorial_works_as_written(tmp_path: Path) -> None:
    _leave_the_hour_alone()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TIDEWHEEL_ARCH")}
    environment |= {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "TERM": "dumb"}
    printed = ""
    for language, text in BLOCK.findall(PAGE.read_text()):
        if language == "text":
            assert text == printed, f"the page shows\n{text}\nbut this was printed:\n{printed}"
            continue
        assert language == "bash", language
        command = ["bash", "-euo", "pipefail", "-c", text]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
        printed = done.stdout


def _leave_the_hour_alone() -> None:
    """The page counts hours from now: an hour that ends in the middle of it would be another page."""
    minutes_left = 60 - time.gmtime().tm_min
    if minutes_left < 8:
        time.sleep(minutes_left * 60)
