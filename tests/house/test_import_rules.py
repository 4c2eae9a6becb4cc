"""The house rules that one would otherwise have to remember: who may import what, and what nobody calls.

Each rule is a row of a table; the guard tests at the end feed bad snippets, so that a blind rule is noticed.
"""

import ast
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
ROOMS = ("indexing", "queries", "storage", "commits", "local", "jobs", "sql", "dags", "playground")


def _names(names: str) -> frozenset[str]:
    return frozenset(names.split())


# Not installed, but they import: the rooms, and each other one way. The tests also test the benchmarks.
GUESTS = {"scripts": _names(""), "benchmarks": _names("scripts"), "tests": _names("scripts benchmarks")}


@dataclass(frozen=True)
class Rule:
    """What a room may import beside the standard library: `tidewheel.jobs.*` is a room with all of its folders,
    `tidewheel.jobs` what lies in it directly, `tidewheel.jobs.data` one folder."""

    always: frozenset[str]
    inside: frozenset[str] = frozenset()  # only within functions
    never: frozenset[str] = frozenset()  # of the standard library


# What the pure rooms leave outside, although it is in the standard library.
OUTSIDE = _names("time random io os pathlib shutil tempfile glob subprocess socket http urllib sqlite3")
CORE = "tidewheel.indexing tidewheel.indexing.core"
QUERIES = "tidewheel.queries tidewheel.queries.operations tidewheel.queries.techniques"
SPARK = "tidewheel.commits tidewheel.indexing.* tidewheel.storage pyspark py4j delta deltalake pyarrow"

# By path: the longest prefix of a file's path is its row.
RULES = {
    "indexing": Rule(_names("tidewheel.indexing"), never=OUTSIDE),
    "indexing/core": Rule(_names(CORE), never=OUTSIDE),
    "indexing/rules": Rule(_names(f"{CORE} tidewheel.indexing.rules"), never=OUTSIDE),
    "indexing/cost": Rule(_names(f"{CORE} tidewheel.indexing.cost"), never=OUTSIDE),
    "indexing/toml": Rule(_names(f"{CORE} tidewheel.indexing.toml"), never=OUTSIDE),
    "indexing/archive_file": Rule(
        _names(f"{CORE} tidewheel.indexing.toml tidewheel.indexing.archive_file"), never=OUTSIDE
    ),
    "queries": Rule(_names(f"{QUERIES} tidewheel.indexing"), never=OUTSIDE),
    "queries/operations": Rule(_names(f"{QUERIES} tidewheel.indexing"), never=OUTSIDE),
    "queries/techniques": Rule(_names(f"{QUERIES} tidewheel.indexing"), never=OUTSIDE),
    "queries/standing": Rule(_names(f"{QUERIES} tidewheel.queries.standing tidewheel.indexing.*"), never=OUTSIDE),
    # Its measured cost is of the same medium as that of archives.
    "queries/planning": Rule(
        _names(
            f"{QUERIES} tidewheel.queries.planning tidewheel.queries.standing tidewheel.indexing"
            " tidewheel.indexing.cost"
        ),
        never=OUTSIDE,
    ),
    "queries/scheduling": Rule(
        _names(
            f"{QUERIES} tidewheel.queries.scheduling tidewheel.queries.planning tidewheel.queries.standing"
            " tidewheel.indexing"
        ),
        never=OUTSIDE,
    ),
    # The same decisions over arrays: still without any I/O.
    "queries/kernels": Rule(
        _names(f"{QUERIES} tidewheel.queries.kernels tidewheel.indexing numpy pyarrow"), never=OUTSIDE
    ),
    "storage": Rule(_names("tidewheel.storage tidewheel.indexing.* arro3 deltalake pyarrow")),
    "commits": Rule(_names("tidewheel.commits tidewheel.indexing.* tidewheel.storage deltalake pyarrow")),
    # The same work as in jobs, in this process.
    "local": Rule(
        _names(
            "tidewheel.local.* tidewheel.commits tidewheel.indexing.* tidewheel.queries.* tidewheel.sql"
            " tidewheel.storage datasketches deltalake duckdb numpy pyarrow"
        )
    ),
    "jobs": Rule(_names(f"tidewheel.jobs.* {SPARK}")),
    "jobs/process": Rule(_names("tidewheel.jobs.process tidewheel.indexing tidewheel.storage pyspark py4j delta")),
    "jobs/data": Rule(
        _names(f"tidewheel.jobs.data tidewheel.jobs.process {SPARK}"),
        inside=_names("confluent_kafka"),  # of who reads a topic
    ),
    "jobs/audit": Rule(_names(f"tidewheel.jobs.audit tidewheel.jobs.data tidewheel.jobs.process {SPARK}")),
    "sql": Rule(
        _names(
            "tidewheel.sql tidewheel.indexing.* tidewheel.queries.* tidewheel.storage"
            " arro3 duckdb deltalake pyarrow xxhash"
        ),
        inside=_names("pandas polars"),  # of who asks for their frames
    ),
    # Airflow parses these files every few seconds: what is heavy waits inside the tasks.
    "dags": Rule(
        _names("tidewheel.dags tidewheel.indexing.* airflow"),
        inside=_names(
            "tidewheel tidewheel.commits tidewheel.jobs.* tidewheel.local.* tidewheel.queries.* tidewheel.storage"
            " tidewheel.sql fastapi openlineage rich sqlalchemy starlette"
        ),
    ),
    # Airflow at home and made-up streams: whoever plays, tests or measures starts these as programs.
    "playground": Rule(
        _names("tidewheel.playground tidewheel.dags tidewheel.jobs.process tidewheel.indexing.*"),
        inside=_names("tidewheel tidewheel.commits tidewheel.storage sqlalchemy"),
    ),
    # The faces: `tidewheel --help` and `import tidewheel` stay instant.
    "tidewheel": Rule(
        _names("tidewheel tidewheel.indexing.* tidewheel.queries.* click rich"),
        inside=_names(
            "tidewheel.commits tidewheel.local.* tidewheel.jobs.* tidewheel.storage tidewheel.sql tidewheel.dags"
            " pyspark duckdb deltalake highspy matplotlib numpy pyarrow"
        ),
    ),
}
TREES = (*ROOMS, "tidewheel")
FOLDERS = tuple(sorted((path for path in RULES), key=len, reverse=True))
PURE = tuple(path for path in RULES if path.split("/")[0] in ("indexing", "queries"))

# Random numbers drive the oracle's histories, from a seed that the caller names.
SEEDED = ("oracle", "simulat", "generate")


@dataclass(frozen=True)
class Ban:
    names: frozenset[str]
    but_in: tuple[str, ...]
    instead: str


BANS = (
    Ban(_names("print"), (), "click.echo or the rich console in the faces; logging in the rooms"),
    Ban(
        _names("uuid.uuid4 uuid.uuid1"),
        ("commits/attempt_id.py",),
        "the attempt's id from tidewheel.commits.attempt_id",
    ),
    Ban(
        _names(
            "datetime.datetime.now datetime.datetime.utcnow datetime.datetime.today datetime.date.today"
            " time.time time.time_ns"
        ),
        ("tidewheel/moments.py", "commits/clock.py"),
        "a moment handed in by the caller, who has it from a clock",
    ),
)
NO_FILES = Ban(_names("open"), (), "text handed in by the caller: the pure rooms do no I/O")


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
def _sources(folder: str) -> list[Source]:
    # rglob does not follow the symlinks in tidewheel/: each room is read once, under its own name.
    return [
        Source(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
        for path in sorted((ROOT / folder).rglob("*.py"))
    ]


def _check(rule: Callable[[Source], list[str]], folders: Iterable[str]) -> None:
    faults = [fault for folder in folders for source in _sources(folder) for fault in rule(source)]
    assert not faults, "\n".join(faults)


def test_rooms_import_only_what_they_may():
    _check(import_faults, TREES)


def test_rooms_are_named_through_the_package():
    _check(bare_room_faults, (*TREES, *GUESTS))


def test_guests_import_each_other_one_way():
    _check(guest_faults, GUESTS)


def test_banned_names_stay_where_they_belong():
    _check(ban_faults, TREES)


def test_modules_import_each_other_without_cycles():
    faults = cycle_faults([source for folder in TREES for source in _sources(folder)])
    assert not faults, "\n".join(faults)


# What every rule must catch.


def test_each_room_is_read_once_and_under_its_own_name():
    paths = [source.path for folder in TREES for source in _sources(folder)]
    assert paths.count("jobs/process/jars.py") == 1
    assert "tidewheel/jobs/process/jars.py" not in paths


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("indexing/core/slots.py", "import pyarrow"),
        ("indexing/core/slots.py", "from pathlib import Path"),
        ("indexing/core/slots.py", "import random"),
        ("indexing/core/oracle.py", "from random import choice"),
        ("indexing/core/slots.py", "def f():\n    import os.path"),
        ("indexing/core/slots.py", "from ...storage import log"),
        ("indexing/errors.py", "from tidewheel.indexing.core import slots"),
        ("indexing/core/plan.py", "from tidewheel.indexing.rules.audit import rules"),
        ("jobs/process/session.py", "from tidewheel.jobs.data.write import write"),
        ("queries/plan.py", "import numpy"),
        ("queries/plan.py", "def f():\n    from tidewheel.queries.kernels import folds"),
        ("queries/plan.py", "from tidewheel.queries import kernels"),
        ("queries/plan.py", "from .kernels import folds"),
        ("queries/kernels/folds.py", "import duckdb"),
        ("queries/kernels/folds.py", "import random"),
        ("queries/kernels/folds.py", "from tidewheel.storage import log"),
        ("storage/log.py", "from tidewheel import jobs"),
        ("storage/log.py", "import pyspark.sql"),
        ("commits/attempt.py", "from pyspark.sql import SparkSession"),
        ("commits/attempt.py", "def f():\n    from tidewheel.jobs.process.session import open_session"),
        ("local/hand.py", "from tidewheel.jobs.process.session import open_session"),
        ("jobs/update.py", "import duckdb"),
        ("jobs/update.py", "from tidewheel.cli import main"),
        ("sql/reader.py", "def f():\n    from pyspark.sql import SparkSession"),
        ("dags/factory.py", "from tidewheel.jobs.update import update"),
        ("dags/factory.py", "class A:\n    import tidewheel.sql"),
        ("dags/factory.py", "def f():\n    import pyspark"),
        ("tidewheel/cli.py", "from tidewheel.sql.reader import probe"),
        ("tidewheel/cli.py", "import pyarrow"),
        ("tidewheel/cli.py", "def f():\n    import airflow"),
    ],
)
def test_a_forbidden_import_is_seen(path, line):
    assert import_faults(Source(path, line))


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("indexing/core/oracle.py", "import random\nrandom.Random(7)"),
        ("indexing/core/slots.py", "from ..errors import InvalidInput"),
        ("queries/kernels/folds.py", "import numpy\nfrom tidewheel.queries.operation import Operation"),
        ("queries/kernels/folds.py", "from tidewheel.queries.kernels import rows\nfrom . import rows"),
        ("dags/factory.py", "def f():\n    from tidewheel.jobs.update import update"),
        ("tidewheel/cli.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import tidewheel.sql"),
        ("tidewheel/cli.py", "def f():\n    import pyarrow"),
    ],
)
def test_an_allowed_import_passes(path, line):
    source = Source(path, line)
    assert not import_faults(source) + bare_room_faults(source) + ban_faults(source)


@pytest.mark.parametrize(
    "line", ["import sql", "from jobs.update import update", "def f():\n    import indexing.core.slots"]
)
def test_a_bare_room_is_seen(line):
    assert bare_room_faults(Source("tidewheel/cli.py", line))


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("benchmarks/scheduled.py", "from tests.support.archives import SmallArchive"),
        ("benchmarks/standing/feed.py", "def f():\n    import tests.conftest"),
        ("scripts/compose_file.py", "from benchmarks import windows"),
    ],
)
def test_a_guest_that_imports_the_other_way_is_seen(path, line):
    assert guest_faults(Source(path, line))
    assert not guest_faults(Source("tests/house/test_soak.py", "from benchmarks.soak import Soak"))


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("jobs/update.py", "print('done')"),
        ("jobs/update.py", "from uuid import uuid4 as new\nfield(default_factory=new)"),
        ("jobs/update.py", "import datetime as dt\ndt.datetime.now(dt.UTC)"),
        ("sql/reader.py", "from time import time\ntime()"),
        ("indexing/core/slots.py", "open('x')"),
        ("indexing/core/oracle.py", "import random\nrandom.choice([1])"),
    ],
)
def test_a_banned_name_is_seen(path, line):
    assert ban_faults(Source(path, line))


def test_a_ban_ends_where_its_exception_begins():
    assert not ban_faults(Source("commits/clock.py", "import time\ntime.time()"))
    assert not ban_faults(Source("jobs/update.py", "import time\ntime.monotonic()"))


def test_a_cycle_is_seen():
    a = Source("jobs/a.py", "from tidewheel.jobs import b")
    b = Source("jobs/b.py", "import tidewheel.jobs.a")
    lazy = Source("jobs/b.py", "def f():\n    import tidewheel.jobs.a")
    assert cycle_faults([a, b])
    assert not cycle_faults([a, lazy])
