"""The walks of docs/architecture.md are what really happens: each operation is carried out, and its files noted.

A walk names the files that hold a step of the operation, in the order in which they are first entered. Whatever else is
passed must stand in the table of what lies below the steps.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.support.archives.asked_archive import asked_archive, events
from tests.support.archives.toml_archives import TomlArchive, first_slot_fed
from tests.support.services.dag_runs import K, context_of, dags_of, pytestmark, tide, work
from tests.support.walk import walk
from tidewheel.cli import main
from tidewheel.indexing.durations import duration_text

__all__ = ["pytestmark", "tide"]  # fixtures and marks of that module, for this one as well
ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "architecture.md"
FILE = re.compile(r"`([a-z_]+/[a-z_/]+\.py)`")
NAME = re.compile(r"`([a-z_]+/[a-z_/]*(?:\.py)?)`")
Run = Callable[[], Any]


@cache
def section(title: str) -> str:
    """The part of the page below a heading."""
    return PAGE.read_text(encoding="utf-8").partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def walks() -> dict[str, list[str]]:
    """The first table: operation → its files, in order."""
    rows = [line.split("|") for line in section("Walks").splitlines() if line.startswith("| **")]
    return {row[1].strip(" *"): FILE.findall(row[3]) for row in rows}


def counts() -> dict[str, int]:
    """The same table: operation → how many files it says they are."""
    rows = [line.split("|") for line in section("Walks").splitlines() if line.startswith("| **")]
    return {row[1].strip(" *"): int(row[2]) for row in rows}


def below() -> set[str]:
    """The second table: what lies below the steps; a name that ends with a slash is a whole folder."""
    rows = [line for line in section("Walks").splitlines() if line.startswith("| ") and not line.startswith("| **")]
    return {name for row in rows for name in NAME.findall(row)}


def is_below(path: str) -> bool:
    return any(path == name or (name.endswith("/") and path.startswith(name)) for name in below())


def said(*words: str) -> Run:
    """The command, typed."""

    def run() -> None:
        done = CliRunner().invoke(main, list(words))
        assert done.exit_code == 0, done.output

    return run


def check(operation: str, run: Run) -> None:
    with walk() as passed:
        run()
    compare(operation, passed)


def compare(operation: str, passed: list[str]) -> None:
    written = walks()[operation]
    strays = [path for path in passed if path not in written and not is_below(path)]
    steps = [path for path in passed if path in written]
    assert not strays, f"{operation} passes {strays}: write them into its walk, or below the steps, in {PAGE.name}"
    assert steps == written, f"the walk of {operation} in {PAGE.name} is not what happens; it is " + " → ".join(
        f"`{path}`" for path in steps
    )


@pytest.fixture
def fed(tmp_path: Path) -> TomlArchive:
    return first_slot_fed(tmp_path)


@pytest.mark.usefixtures("spark")
def test_from_the_command_line(fed: TomlArchive) -> None:
    """In one test: Spark is warm, and each finds what the one before left."""
    file = str(fed.path)
    archive = fed.open()
    archive.probe("k1")
    check("probe (API)", lambda: archive.probe("k1").rows())
    check("probe (CLI)", said("probe", file, "k1"))
    check("update (CLI)", said("update", file, "--slot", fed.axis.name(1)))
    check("audit", said("audit", file))
    check("forget", said("forget", file, "--key", "k2", "--yes"))


@pytest.mark.usefixtures("spark")
def test_from_airflow(tide: TomlArchive) -> None:
    tide.write_batches([K, K + 1])
    work(tide, "tide", "update", context_of(tide, K))
    operator = dags_of(tide)["tide"].task_dict["update"]
    context = context_of(tide, K + 1)
    context["dag"] = operator.dag
    check("update (Airflow)", lambda: operator.execute(context))


def test_refresh_and_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refresh of one more slot, where partials and answers are there."""
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(tmp_path / "archives"))
    archive = asked_archive(tmp_path)
    said("refresh", "m")()
    archive.update({6: events(6)})
    check("refresh", said("refresh", "m"))
    check("ask", said("ask", "m", "total"))


def test_the_page_names_files_that_are_there_each_once() -> None:
    for operation, files in walks().items():
        assert len(set(files)) == len(files) == counts()[operation] > 0, operation
        assert not [path for path in files if not (ROOT / path).is_file()]
    assert not [name for name in below() if not (ROOT / name).exists()]


def test_a_walk_is_of_functions_called_not_of_modules_read() -> None:
    with walk() as passed:
        duration_text(1)
    assert passed == ["indexing/durations.py"]


def test_another_file_on_the_way_and_one_that_is_no_longer_passed_are_seen() -> None:
    with pytest.raises(AssertionError, match=r"passes \['benchmarks/harness/results.py'\]"):
        compare("audit", [*walks()["audit"], "benchmarks/harness/results.py"])
    with pytest.raises(AssertionError, match="is not what happens"):
        compare("audit", walks()["audit"][1:])
    with pytest.raises(AssertionError, match="is not what happens"):
        compare("audit", walks()["audit"][::-1])
