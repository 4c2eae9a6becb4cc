"""The page for people with their own tools, carried out as it is written."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from tests.support.archives.built_table import HOUR_US, BuiltTable
from tests.support.archives.columns import column
from tidewheel.indexing.core.definition import Clock

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "reading-without-tidewheel.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LATER_US = 2**52  # in the year 2112


def test_the_page_works_as_written_as_far_as_no_spark_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readings(tmp_path / "table")
    monkeypatch.chdir(tmp_path)
    assert carried_out(PAGE.read_text().partition("\n## Spark\n")[0]) == 3


@pytest.mark.nightly
@pytest.mark.usefixtures("spark")
def test_the_page_works_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readings(tmp_path / "table")
    monkeypatch.chdir(tmp_path)
    assert carried_out(PAGE.read_text()) == 5


def carried_out(page: str) -> int:
    """How many answers the page shows, all of them those that were printed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    names: dict[str, Any] = {}
    printed, shown = "", 0
    for language, text in BLOCK.findall(page):
        if language == "text":
            assert printed == text
            shown += 1
        elif language == "bash":
            subprocess.run(["bash", "-euc", text], check=True, env={**os.environ, "PATH": path})
        else:
            with redirect_stdout(io.StringIO()) as out:
                exec(compile(text, PAGE.name, "exec"), names)
            printed = out.getvalue()
    return shown


def readings(place: Path) -> None:
    """Two records that are alive, one whose time is over and whose file has not gone yet, and a checkpoint."""
    fields = [column("sensor", "string"), column("value", "double")]
    table = BuiltTable.create(place, fields, ["sensor"], clock=Clock.WALL, name="readings")
    table.append([table.row(0, 5 * HOUR_US, sensor="s0", value=0.5)], watermark=0)
    table.append(
        [table.row(1, LATER_US, sensor=name, value=value) for name, value in (("s1", 1.5), ("s2", 2.5))], watermark=1
    )
    table.snapshot.table.create_checkpoint()
