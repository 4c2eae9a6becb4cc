"""What the contributing page promises a newcomer: for ten changes the file to open, and what to look for in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("## Which file to open")[2].partition("\n## ")[0]
CHANGES = [
    [cell.strip() for cell in line.split("|")[1:4]]
    for line in TABLE.splitlines()
    if line.startswith("| ") and "/" in line
]
QUOTED = re.compile(r"`([^`]+)`")


def test_there_are_ten() -> None:
    assert len(CHANGES) == 10


@pytest.mark.parametrize(("change", "files", "names"), CHANGES, ids=[change for change, _, _ in CHANGES])
def test_the_file_is_there_and_holds_what_to_look_for(change: str, files: str, names: str) -> None:
    opened, sought = QUOTED.findall(files), QUOTED.findall(names)
    assert len(opened) == len(sought), change
    for path, name in zip(opened, sought, strict=True):
        text = (ROOT / path).read_text(encoding="utf-8")
        assert re.search(rf"^ *(?:class|def)? ?{name}\b", text, re.MULTILINE), f"{path} holds no {name}"
