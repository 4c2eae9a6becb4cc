"""The notebook of the examples is run by a real kernel, and shows what it shows in the file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.nightly
EXAMPLES = Path(__file__).parent.parent.parent / "examples"
AT = re.compile(r" at 0x[0-9a-f]+")


@pytest.mark.usefixtures("spark")
def test_it_shows_what_it_says() -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(EXAMPLES / "reading.ipynb", as_version=4)
    nbformat.validate(notebook)
    shown = [outputs(cell) for cell in notebook.cells]
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(EXAMPLES)}}).execute()
    again = "run: jupyter execute --inplace examples/reading.ipynb"
    assert [outputs(cell) for cell in notebook.cells] == shown, again
    assert sum(bool(one) for one in shown) >= 6


def outputs(cell: Any) -> list[str]:
    """What a cell prints, without places in memory."""
    return [AT.sub("", one.get("text") or one["data"]["text/plain"]) for one in cell.get("outputs", [])]
