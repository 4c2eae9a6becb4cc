"""Every call of the catalogue is run as a user types it.

A command of tidewheel, or an expression over the row's own files.
"""

from __future__ import annotations

import importlib
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tidewheel.cli import main

PAGE = Path(__file__).parent.parent.parent / "queries" / "README.md"


def _rows() -> list[dict[str, str]]:
    """The rows of tables that have a column of calls, each with its section's files."""
    found = []
    for section in PAGE.read_text(encoding="utf-8").split("\n### ")[1:]:
        lines = [line for line in section.splitlines() if line.startswith("|")]
        if not lines or "| call |" not in lines[0]:
            continue
        heading, _, *cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        rows = [dict(zip(heading, row, strict=True)) for row in cells]
        files = " ".join(row["file"] for row in rows)
        found += [row | {"files": files} for row in rows]
    return found


ROWS = _rows()


def _names(files: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in re.findall(r"`([\w/]+)\.py`", files):
        found |= vars(importlib.import_module(f"tidewheel.queries.{path.replace('/', '.')}"))
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name in the literature"][:40])
def test_the_call_of_a_row_runs(row):
    call = row["call"].strip("`")
    assert call, row
    if call.startswith("tidewheel "):
        answer = CliRunner().invoke(main, shlex.split(call.removeprefix("tidewheel ")))
        assert answer.exit_code == 0, answer.output
    else:
        eval(call, _names(row["files"]))
