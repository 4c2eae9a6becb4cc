"""The room's page is true: its examples and calls run, the literature's names have rows, and files and tests exist."""

from __future__ import annotations

import ast
import doctest
import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.literature import headlines, windows
from tests.support.archives.asked_archive import asked_archive
from tests.support.models.query_operations import APPROXIMATE, CASES, NOT_FOR_USERS
from tidewheel.cli import main
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
    "scheduling",
    "literature/planning",
    "literature/placement",
    "literature/synopses",
    "statements",
    "statements/rewrites",
    "statements/texts",
    "literature",
    "literature/state",
    "literature/joins",
    "literature/patterns",
    "literature/patterns/operators",
    "literature/patterns/sketches",
    "literature/patterns/join_synopses",
    "literature/isolation",
    "literature/optimiser",
    "literature/optimiser/drops",
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


CALLS = [row["to try it"].strip("`") for row in ROWS if "to try it" in row]
PROGRAMS = ("tidewheel ", "python -m ")
QUERY = (
    '[[query]]\nname = "{}"\nof = "m"\nselect = "{} as x"\nwindow = "{}"\nslide = "1m"\nrevise = "5m"\nkeep = "1h"\n'
)
QUERIES = {
    "total": ("sum(v)", "3m"),
    "most": ("max(v)", "3m"),
    "hosts": ("approx_count_distinct(k)", "3m"),
    "middle": ("kll_quantile(v, 0.5)", "3m"),
    "alive": ("count(*)", "live"),
}
# Where algorithms lie, and files there that hold definitions alone.
ALGORITHMS = (
    *("techniques/", "planning/", "scheduling/", "shared_plan", "slicing", "kernels/van_herk"),
    *("literature/planning/", "literature/placement/", "literature/synopses/"),
)
DEFINITIONS = (
    "planning/catalogue.py", "planning/certificate.py", "planning/edge_space.py",
    "literature/planning/grouped_model.py",
    "planning/load.py", "planning/loom.py", "planning/matching.py", "planning/measured_model.py",
    "planning/omega_model.py", "planning/omegas.py", "planning/phases.py", "literature/placement/placed_nodes.py",
    "planning/plan.py", "planning/population.py", "planning/weaveability.py", "scheduling/schedule_worth.py",
    "scheduling/run_costs.py", "scheduling/turns.py", "literature/synopses/values.py",
)  # fmt: skip


def files_of(row: dict[str, str]) -> list[str]:
    return re.findall(r"`([\w/]+\.py)`", row.get("file", ""))


@pytest.mark.parametrize(
    "page",
    [PAGE, *(ROOT / "docs" / name for name in ("sliding-windows.md", "update-patterns.md"))],
    ids=lambda page: page.name,
)
def test_the_examples_and_the_calls_run(page: Path) -> None:
    text = re.sub(r"^```.*$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    examples = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    assert len(examples.examples) >= 10
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    assert runner.run(examples, clear_globs=False).failed == 0
    if page == PAGE:
        for call in CALLS:
            assert call.startswith(PROGRAMS) or eval(call, examples.globs) is True, call


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive m with the queries that the calls name, and a file with another one."""
    folder = tmp_path_factory.mktemp("asked")
    asked_archive(folder, "".join(QUERY.format(name, *said) for name, said in QUERIES.items()))
    (folder / "new.toml").write_text(QUERY.format("new", "max(v)", "5m"), encoding="utf-8")
    return folder


@pytest.mark.nightly
def test_the_commands_run_as_they_are_typed(asked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(asked)
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(asked / "archives"))
    for call in ("tidewheel refresh m", *(one for one in CALLS if one.startswith("tidewheel "))):
        words = shlex.split(call)[1:]
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 0, f"{call}\n{done.output}"
        # The model's costs of a technique do not name it.
        named = [words[at + 1] for at, word in enumerate(words) if word in ("--technique", "--planner")]
        assert "--model" in words or all(name in done.output for name in named), f"{call}\n{done.output}"
    for call in (one for one in CALLS if one.startswith("python -m benchmarks ")):
        command, *options = shlex.split(call)[3:]
        assert command == "headlines"
        assert headlines.main([*options, "--results", str(asked)]) == 0


def test_every_algorithm_says_where_it_departs_from_what_was_printed() -> None:
    files = {file for row in ROWS if row.get("to try it") for file in files_of(row)}
    algorithms = sorted(file for file in files if file.startswith(ALGORITHMS) and file not in DEFINITIONS)
    assert len(algorithms) > 35
    for file in algorithms:
        text = ast.get_docstring(ast.parse((PAGE.parent / file).read_text(encoding="utf-8"))) or ""
        assert len(re.findall(r"^(?:Departs from|Follows|No listing is printed).+", text, re.MULTILINE)) == 1, file


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
