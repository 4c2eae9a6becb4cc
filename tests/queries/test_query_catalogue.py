"""The room's page is true: its examples run, the literature's names have rows, and the rows' files and tests exist."""

from __future__ import annotations

import ast
import doctest
import json
import re
from pathlib import Path

import pytest

from benchmarks import windows
from tests.support.query_operations import APPROXIMATE, CASES, NOT_FOR_USERS
from tidewheel.queries.choice import TECHNIQUES

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "queries" / "README.md"
INVENTORIES = sorted((ROOT / "tests" / "query_vectors").glob("inventory*.json"))
# Rooms of others below this one, with pages of their own.
OWN = (
    "operations",
    "techniques",
    "kernels",
    "planning",
    "planning/planners",
    "planning/placement",
    "scheduling",
    "synopses",
    "statements",
    "literature",
    "literature/state",
    "literature/joins",
    "literature/patterns",
    "literature/patterns/operators",
    "literature/patterns/sketches",
    "literature/patterns/join_synopses",
    "literature/isolation",
    "literature/frequent",
    "",
)


def tables() -> list[list[dict[str, str]]]:
    """Every table of the page as rows by heading."""
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", PAGE.read_text(encoding="utf-8"), re.MULTILINE):
        heading, _, *lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()]
        assert all(len(line) == len(heading) for line in lines), block
        found.append([dict(zip(heading, line, strict=True)) for line in lines])
    return found


ROWS = [row for table in tables() for row in table]


def files_of(row: dict[str, str]) -> list[str]:
    return re.findall(r"`([\w/]+\.py)`", row.get("file", ""))


@pytest.mark.parametrize("page", [PAGE, ROOT / "docs" / "sliding-windows.md"], ids=lambda page: page.name)
def test_the_examples_run(page: Path) -> None:
    text = re.sub(r"^```.*$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    examples = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    assert len(examples.examples) >= 10
    assert doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL).run(examples).failed == 0


def test_the_benchmark_has_every_technique(capsys: pytest.CaptureFixture[str]) -> None:
    windows.main(["--sizes", "4", "2000", "--seconds", "0", "--rows", "100"])
    lines = capsys.readouterr().out.splitlines()
    for technique in TECHNIQUES:
        rows = [line for line in lines if line.startswith((f"{technique.name} (max)", f"{technique.name} (sum)"))]
        assert len(rows) == 1 + (not technique.one_count_only)
    assert [line.split()[-1] for line in lines if line.startswith("prefix sums")] == ["-"]


def test_every_name_of_the_literature_has_a_row() -> None:
    named = " | ".join(row.get("name in the literature", "") for row in ROWS)
    pages = [json.loads(page.read_text(encoding="utf-8")) for page in INVENTORIES]
    words = [vector["name"] for page in pages for vector in page["vectors"]]
    assert len(words) > 120
    assert [word for word in words if word not in named] == []


def test_every_file_and_test_exists() -> None:
    for row in ROWS:
        for file in files_of(row):
            assert (PAGE.parent / file).is_file(), row
        for file, name in re.findall(r"`(test_\w+\.py)::(\w+)`", row.get("test", "")):
            [path] = (ROOT / "tests").rglob(file)
            tree = ast.parse(path.read_text(encoding="utf-8"))
            assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, row


def test_every_file_of_the_room_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for folder in OWN:
        for path in sorted((PAGE.parent / folder).glob("*.py")):
            name = path.relative_to(PAGE.parent).as_posix()
            assert path.name == "__init__.py" or f"`{name}`" in text, name


def test_every_technique_has_a_row_with_its_classes() -> None:
    rows = {files_of(row)[0]: row for row in ROWS if "worst" in row}
    for technique in TECHNIQUES:
        row = rows[technique.__module__.removeprefix("tidewheel.queries.").replace(".", "/") + ".py"]
        assert technique.name in row["name in the literature"]
        assert set(row["class"].split(", ")) == {found.value for found in technique.classes}
        assert (row["time, all ranges"] == "refused") is technique.one_count_only


def test_every_operation_has_a_row_with_its_class() -> None:
    rows = [row for row in ROWS if "operations" in row]
    written = {(name, row["class"]) for row in rows for name in row["operations"].split(", ")}
    operations = [case.operation for case in (*CASES, *APPROXIMATE) if case.operation not in NOT_FOR_USERS]
    assert written == {(op.name.partition("(")[0], op.algebra_class.value) for op in operations}
