"""The examples run, and print what their page says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
SHOWN = re.compile(r"^    python examples/(\S+)\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shown() -> dict[str, str]:
    return dict(SHOWN.findall((EXAMPLES / "README.md").read_text()))


def test_the_page_shows_every_example() -> None:
    assert set(shown()) == {str(path.relative_to(EXAMPLES)) for path in EXAMPLES.glob("*/*.py")}


@pytest.mark.nightly
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("name", shown())
def test_it_prints_what_the_page_says(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / name))["main"](tmp_path)
    printed = capsys.readouterr().out
    assert printed == shown()[name], printed
