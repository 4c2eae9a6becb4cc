"""The shape of the house: short files and functions, small folders on a map, docstrings that are sentences.

Numbers in capitals that end with LEFT count what does not fit yet: they may only fall.
"""

from __future__ import annotations

import ast
import random
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.import_rules import ROOT, TREES

FILE_LINES_MAX = 300
FUNCTION_LINES_P90_MAX = 20
COMPLEXITY_MAX = 12
PUBLIC_METHODS_MAX = 20
FOLDER_FILES_MAX = 25
DERIVED_FOLDER_FILES_MAX = 14  # below local/
DRAWN = 12
SEED = 25
FRAGMENT = re.compile(r"(Of|By|That|Those|Who|Whose|Whether|What|Where|Which)\b")
# What does not fit yet.
DENSE_LEFT = 0
FRAGMENTS_LEFT = 0
LONG_FILES_LEFT = 0
WIDE_CLASSES_LEFT = 0
HEAPS_LEFT = 2
NAMES_TWICE_LEFT = 41
_BRANCHES = (
    *(ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While),
    *(ast.ExceptHandler, ast.comprehension, ast.Assert, ast.match_case),
)
Function = ast.FunctionDef | ast.AsyncFunctionDef
_ROW = re.compile(r"^\| `([\w/]+)/` \| (.*?) \|", re.MULTILINE)
_FOLDER = re.compile(r"(?:^|[·←] )`([\w/]+)/`")


@cache
def _trees() -> dict[str, ast.Module]:
    """Return every product file, parsed, by its path."""
    paths = [path for tree in TREES for path in (ROOT / tree).rglob("*.py") if not _is_linked(path, tree)]
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def _is_linked(path: Path, tree: str) -> bool:
    """Tell whether a room is seen through its link below tidewheel/, where it would be read twice."""
    inside = path.relative_to(ROOT / tree).parts
    return any((ROOT / tree / Path(*inside[:depth])).is_symlink() for depth in range(1, len(inside) + 1))


def _functions() -> Iterator[tuple[str, Function]]:
    for path, tree in _trees().items():
        for node in ast.walk(tree):
            if isinstance(node, Function):
                yield f"{path}:{node.lineno} {node.name}", node


def _hold(found: list[str], left: int) -> None:
    assert len(found) <= left, "\n".join([f"{len(found)} instead of {left} at most:", *sorted(found)])


def complexity(function: ast.AST) -> int:
    """Count the ways through a function, with comprehensions and boolean operators, which ruff leaves out."""
    ways = 1
    for node in ast.walk(function):
        ways += isinstance(node, _BRANCHES)
        ways += len(node.values) - 1 if isinstance(node, ast.BoolOp) else 0
    return ways


def test_complexity_counts_every_branch():
    text = "def f(a, b):\n    if a and b or a:\n        return [x for x in a if x]\n    return 1 if b else 2"
    assert complexity(ast.parse(text)) == 6


def test_no_function_is_dense():
    _hold(
        [f"{where}: {complexity(node)}" for where, node in _functions() if complexity(node) > COMPLEXITY_MAX],
        DENSE_LEFT,
    )


def test_files_are_short():
    lines = {path: len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in _trees()}
    _hold([f"{path}: {count}" for path, count in lines.items() if count > FILE_LINES_MAX], LONG_FILES_LEFT)


def test_functions_are_short():
    lines = sorted((node.end_lineno or 0) - node.lineno + 1 for _, node in _functions())
    assert lines[len(lines) * 9 // 10] <= FUNCTION_LINES_P90_MAX


def test_no_class_has_many_public_methods():
    classes = [
        (f"{path}:{node.lineno} {node.name}", node)
        for path, tree in _trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    ]
    public = {
        where: sum(isinstance(one, Function) and not one.name.startswith("_") for one in node.body)
        for where, node in classes
    }
    _hold([f"{where}: {count}" for where, count in public.items() if count > PUBLIC_METHODS_MAX], WIDE_CLASSES_LEFT)


def test_no_folder_is_a_heap():
    files = Counter(str(Path(path).parent) for path in _trees() if not path.endswith("__init__.py"))
    most = {folder: DERIVED_FOLDER_FILES_MAX if folder.startswith("local/") else FOLDER_FILES_MAX for folder in files}
    _hold([f"{folder}: {count}" for folder, count in files.items() if count > most[folder]], HEAPS_LEFT)


def test_no_file_name_is_used_twice():
    names = Counter(Path(path).stem for path in _trees() if not path.endswith("__init__.py"))
    _hold([f"{name}: {count}" for name, count in names.items() if count > 1], NAMES_TWICE_LEFT)


def _docstrings() -> Iterator[tuple[str, str]]:
    for path, tree in _trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node)
                if text:
                    yield f"{path}:{getattr(node, 'lineno', 1)}", text.splitlines()[0]


def test_docstrings_are_sentences():
    """Few begin with a fragment: write the subject or the verb first."""
    fragments = [f"{where}: {line}" for where, line in _docstrings() if FRAGMENT.match(line)]
    _hold(fragments, FRAGMENTS_LEFT)


@pytest.mark.parametrize("line", ["Of two the older.", "Whether it is so.", "What is kept."])
def test_a_fragment_is_seen(line: str):
    assert FRAGMENT.match(line)
    assert not FRAGMENT.match("Return what is kept.")


@cache
def _map() -> Counter[str]:
    """Count the rows of the rooms' map that name each folder: a room's own row, and the folders in its second row."""
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8").split("## The rooms")[1].split("\n## ")[0]
    rooms, folders = text.split("| room | folders |")
    inside = [f"{room}/{folder}" for room, cell in _ROW.findall(folders) for folder in _FOLDER.findall(cell)]
    return Counter([*(room for room, _ in _ROW.findall(rooms)), *inside])


def _rows_that_name(path: str) -> int:
    """Count the map's rows for a file: those of its folder, or of the folder that this is a part of."""
    parents = [parent.as_posix() for parent in Path(path).parents]
    return (
        next((_map()[parent] for parent in parents[:-2] if parent in _map()), 0) if parents[:-2] else _map()[parents[0]]
    )


def test_every_folder_is_on_the_map():
    rows = {str(Path(path).parent): _rows_that_name(path) for path in _trees()}
    assert not {folder: count for folder, count in rows.items() if count != 1}


def test_drawn_functions_are_found_by_the_map():
    drawn = random.Random(SEED).sample([where for where, _ in _functions()], DRAWN)
    misses = [where for where in drawn if _rows_that_name(where.split(":")[0]) != 1]
    assert not misses, f"seed {SEED}: {misses}"
