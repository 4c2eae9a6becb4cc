"""Which test files need no engine: nothing that they import, at any depth, is one or starts a process."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
# The engines, and what starts programs or imports modules by names that are not written down.
ENGINES = frozenset(
    (
        "pyspark",
        "py4j",
        "delta",
        "deltalake",
        "duckdb",
        "airflow",
        "arro3",
        "subprocess",
        "multiprocessing",
        "importlib",
    )
)
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([^\n]+))", re.MULTILINE
)
_NAME = re.compile(r"[\w.]+")


def needs_no_engine(path: Path) -> bool:
    """Whether a test file can be run while nothing but Python is started."""
    seen, todo = {path}, [path]
    while todo:
        for name in _imported(todo.pop()):
            if name.split(".")[0] in ENGINES:
                return False
            found = _file(name)
            if found is not None and found not in seen:
                seen.add(found)
                todo.append(found)
    return True


@cache
def _imported(path: Path) -> frozenset[str]:
    """Every module that a file names, in functions too; and every name taken from one, which may be a module."""
    names: set[str] = set()
    for module, taken, plain in _IMPORT.findall(path.read_text(encoding="utf-8")):
        names.update(_NAME.findall(plain) if plain else (module, *(f"{module}.{one}" for one in _NAME.findall(taken))))
    return frozenset(names)


@cache
def _file(module: str) -> Path | None:
    place = ROOT / module.replace(".", "/")
    return next((one for one in (place.with_suffix(".py"), place / "__init__.py") if one.is_file()), None)
