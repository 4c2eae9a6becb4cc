"""Every example in a docstring is run, in whichever module it stands."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
ROOMS = ("indexing", "queries", "storage", "commits", "local", "jobs", "sql", "dags", "playground")
TOPS = (*ROOMS, "tidewheel", "benchmarks", "scripts", "tests")


def with_examples() -> list[str]:
    """Names of modules; found by the prompt, so that none is told anywhere that it has examples."""
    found = [
        path.relative_to(ROOT)
        for top in TOPS
        for path in (ROOT / top).rglob("*.py")
        if path != Path(__file__) and ">>> " in path.read_text(encoding="utf-8")
    ]
    return sorted("tidewheel." * (path.parts[0] in ROOMS) + ".".join(path.with_suffix("").parts) for path in found)


@pytest.mark.parametrize("name", with_examples())
def test_examples_run(name: str) -> None:
    examples = doctest.testmod(importlib.import_module(name))
    assert examples.attempted > 0
    assert examples.failed == 0
