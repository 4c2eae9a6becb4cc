"""What breaks the rules of who may import what, source by source: a function for each kind of rule."""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.support.import_rules import (
    BANS,
    FOLDERS,
    GUESTS,
    LITERATURE,
    LITERATURE_READERS,
    NO_FILES,
    PURE,
    ROOMS,
    ROOT,
    RULES,
    SEEDED,
)


@dataclass(frozen=True)
class Import:
    name: str  # the module as written, made absolute
    member: str  # the name taken from it; "" for a plain import
    alias: str  # after `as`, or ""
    line: int
    runs_at_import: bool  # neither inside a function nor for type checkers only


@dataclass(frozen=True)
class Source:
    path: str  # as in the source tree: indexing/core/slots.py, tidewheel/cli.py
    text: str

    @property
    def room(self) -> str:
        return next((folder for folder in FOLDERS if self.path.startswith(f"{folder}/")), self.path.split("/")[0])

    @property
    def module(self) -> str:
        dotted = self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        return dotted if dotted.split(".")[0] == "tidewheel" else f"tidewheel.{dotted}"

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.path)

    @cached_property
    def imports(self) -> list[Import]:
        return list(self._imports(self.tree, runs_at_import=True))

    def _imports(self, node: ast.AST, runs_at_import: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                continue  # holds no statement
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield Import(alias.name, "", alias.asname or "", child.lineno, runs_at_import)
            elif isinstance(child, ast.ImportFrom):
                module = self._absolute(child)
                for alias in child.names:
                    yield Import(module, alias.name, alias.asname or "", child.lineno, runs_at_import)
            else:
                later = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
                for_types = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test)
                yield from self._imports(child, runs_at_import and not (later or for_types))

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        here = self.module.split(".")
        if not self.path.endswith("__init__.py"):
            here.pop()
        base = here[: len(here) - node.level + 1]
        return ".".join([*base, node.module] if node.module else base)

    def references(self) -> Iterator[tuple[str, int]]:
        """Every name and dotted name read in the file, with import aliases undone."""
        known = {}
        for found in self.imports:
            if found.member:
                known[found.alias or found.member] = f"{found.name}.{found.member}"
            elif found.alias:
                known[found.alias] = found.name
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name | ast.Attribute):
                first, *rest = _dotted(node)
                yield ".".join((known.get(first, first), *rest)), node.lineno


def _dotted(node: ast.expr) -> list[str]:
    """The names of a dotted name; what is none of them, as a call, is nothing."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id if isinstance(node, ast.Name) else "", *names[::-1]]


def _owner(found: Import) -> str:
    """What the rules speak of: tidewheel.<folder>, tidewheel for the faces, or the top-level package."""
    first, *rest = f"{found.name}.{found.member}".split(".")
    if first != "tidewheel":
        return first
    folder = next((folder for folder in FOLDERS if f"{'/'.join(rest)}/".startswith(f"{folder}/")), "tidewheel")
    return "tidewheel" if folder == "tidewheel" else f"tidewheel.{folder.replace('/', '.')}"


def _allowed(owner: str, names: frozenset[str]) -> bool:
    room = ".".join(owner.split(".")[:2])
    return owner in names or (owner.startswith("tidewheel.") and f"{room}.*" in names)


def import_faults(source: Source) -> list[str]:
    rule = RULES[source.room]
    seeded = any(word in Path(source.path).stem for word in SEEDED)
    faults = []
    for found in source.imports:
        owner = _owner(found)
        where = f"{source.path}:{found.line}"
        if owner in rule.never and not (owner == "random" and seeded and not found.member):
            faults.append(f"{where}: {source.room} may not import {owner}")
        elif _allowed(owner, rule.always) or owner in sys.stdlib_module_names:
            continue
        elif _allowed(owner, rule.inside):
            if found.runs_at_import:
                faults.append(f"{where}: import {owner} inside the function that needs it")
        elif owner not in ROOMS:  # bare rooms are the next rule's
            faults.append(f"{where}: {source.room} may not import {owner}")
    return faults


def literature_faults(source: Source) -> list[str]:
    """Return the imports of the literature's engines by anything but the command that shows them."""
    if source.path.startswith(LITERATURE_READERS):
        return []
    return [
        f"{source.path}:{found.line}: {source.room} may not import {LITERATURE}"
        for found in source.imports
        if f"{found.name}.{found.member}.".startswith(f"{LITERATURE}.")
    ]


def bare_room_faults(source: Source) -> list[str]:
    return [
        f"{source.path}:{found.line}: write tidewheel.{found.name}, the only name it has when installed"
        for found in source.imports
        if found.name.split(".")[0] in ROOMS
    ]


def guest_faults(source: Source) -> list[str]:
    """A room imports no guest (`import_faults`); the guests import each other one way, so that none is a cycle."""
    allowed = {source.room} | GUESTS[source.room]
    return [
        f"{source.path}:{found.line}: {source.room} may not import {found.name}; what both need lies in {source.room}"
        for found in source.imports
        if found.name.split(".")[0] in GUESTS.keys() - allowed
    ]


def ban_faults(source: Source) -> list[str]:
    bans = (*BANS, NO_FILES) if source.room in PURE else BANS
    faults = [
        f"{source.path}:{line}: no {name} here; use {ban.instead}"
        for name, line in source.references()
        for ban in bans
        if name in ban.names and source.path not in ban.but_in
    ]
    if source.room in PURE:
        faults += [
            f"{source.path}:{line}: no {name} here; use random.Random(seed)"
            for name, line in source.references()
            if name.startswith("random.") and not name.startswith("random.Random")
        ]
    return faults


def cycle_faults(sources: list[Source]) -> list[str]:
    modules = {source.module for source in sources}
    graph = {}
    for source in sources:
        wanted = {
            name
            for found in source.imports
            if found.runs_at_import
            for name in (found.name, f"{found.name}.{found.member}")
        }
        graph[source.module] = (wanted & modules) - {source.module}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as cycle:
        return [" -> ".join(reversed(cycle.args[1]))]
    return []


@cache
def sources_in(folder: str) -> list[Source]:
    # rglob does not follow the symlinks in tidewheel/: each room is read once, under its own name.
    return [
        Source(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
        for path in sorted((ROOT / folder).rglob("*.py"))
    ]
