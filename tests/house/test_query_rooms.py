"""The rooms of `local/` stay readable: small folders, simple functions, docstrings that are sentences."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
FILES = sorted((ROOT / "local").rglob("*.py"))
FILES_PER_FOLDER_MAX = 14
COMPLEXITY_MAX = 12
FRAGMENTS = frozenset(["Of", "By", "That", "Those", "Who", "Whose", "Whether", "What", "Where", "Which"])
BRANCHES = (ast.If, ast.For, ast.While, ast.IfExp, ast.ExceptHandler, ast.Assert, ast.comprehension, ast.match_case)
Documented = ast.Module | ast.ClassDef | ast.FunctionDef


def nodes(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def complexity(function: ast.AST) -> int:
    """The ways through a function; comprehensions and boolean operators count."""
    found = [node for node in ast.walk(function) if node is not function]
    operators = sum(len(node.values) - 1 for node in found if isinstance(node, ast.BoolOp))
    return 1 + sum(isinstance(node, BRANCHES) for node in found) + operators


def is_fragment(docstring: str | None) -> bool:
    return bool(docstring) and (docstring or "").split()[0].strip(",.:;") in FRAGMENTS


def test_folders_are_small() -> None:
    sizes = Counter(path.parent for path in FILES if path.name != "__init__.py")
    assert not {folder: size for folder, size in sizes.items() if size > FILES_PER_FOLDER_MAX}


def test_functions_are_simple() -> None:
    functions = [(path, node) for path in FILES for node in nodes(path) if isinstance(node, ast.FunctionDef)]
    found = {f"{path.relative_to(ROOT)}: {node.name}": complexity(node) for path, node in functions}
    assert not {name: count for name, count in found.items() if count > COMPLEXITY_MAX}


def test_docstrings_are_no_fragments() -> None:
    documented = [(path, node) for path in FILES for node in nodes(path) if isinstance(node, Documented)]
    assert not [
        f"{path.relative_to(ROOT)}: {text}" for path, node in documented if is_fragment(text := ast.get_docstring(node))
    ]


@pytest.mark.parametrize(
    ("text", "ways"),
    [("def f(a): return a", 1), ("def f(a): return [b for b in a] if a and len(a) > 1 else []", 4)],
)
def test_comprehensions_and_operators_count(text: str, ways: int) -> None:
    assert complexity(ast.parse(text).body[0]) == ways


@pytest.mark.parametrize(
    ("text", "seen"),
    [("Whether it is so.", True), ("Of a, b.", True), ("Tell whether it is so.", False), (None, False)],
)
def test_fragments_are_seen(text: str | None, seen: bool) -> None:
    assert is_fragment(text) is seen
