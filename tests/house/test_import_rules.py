"""The house rules that one would otherwise have to remember: who may import what, and what nobody calls.

The guard tests at the end feed bad snippets, so that a blind rule is noticed.
"""

from collections.abc import Callable, Iterable

import pytest

from tests.support.import_faults import (
    Source,
    ban_faults,
    bare_room_faults,
    cycle_faults,
    guest_faults,
    import_faults,
    literature_faults,
    sources_in,
)
from tests.support.import_rules import GUESTS, TREES


def _check(rule: Callable[[Source], list[str]], folders: Iterable[str]) -> None:
    faults = [fault for folder in folders for source in sources_in(folder) for fault in rule(source)]
    assert not faults, "\n".join(faults)


def test_rooms_import_only_what_they_may():
    _check(import_faults, TREES)


def test_rooms_are_named_through_the_package():
    _check(bare_room_faults, (*TREES, *GUESTS))


def test_the_literature_is_imported_by_what_shows_it_alone():
    _check(literature_faults, TREES)


def test_guests_import_each_other_one_way():
    _check(guest_faults, GUESTS)


def test_banned_names_stay_where_they_belong():
    _check(ban_faults, TREES)


def test_modules_import_each_other_without_cycles():
    faults = cycle_faults([source for folder in TREES for source in sources_in(folder)])
    assert not faults, "\n".join(faults)


# What every rule must catch.


def test_each_room_is_read_once_and_under_its_own_name():
    paths = [source.path for folder in TREES for source in sources_in(folder)]
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
        ("queries/statements/plan.py", "from tidewheel.queries.literature.state import entries"),
        ("queries/literature/state/fifo.py", "from tidewheel.queries.literature.joins import eager"),
        ("queries/literature/joins/eager.py", "import numpy"),
        ("queries/kernels/folds.py", "import random"),
        ("queries/kernels/folds.py", "from tidewheel.storage import log"),
        ("storage/log.py", "from tidewheel import jobs"),
        ("storage/log.py", "import pyspark.sql"),
        ("commits/attempt.py", "from pyspark.sql import SparkSession"),
        ("commits/attempt.py", "def f():\n    from tidewheel.jobs.process.session import open_session"),
        ("local/hand.py", "from tidewheel.jobs.process.session import open_session"),
        ("local/derived/put.py", "from tidewheel.local.partials.stored_columns import delta_columns"),
        ("local/partials/memory/tree_grid.py", "from tidewheel.local.answers.ways import fold"),
        ("local/answers/give.py", "from tidewheel.local.standing.nodes import Node"),
        ("jobs/update.py", "import duckdb"),
        ("jobs/update.py", "from tidewheel.cli import main"),
        ("sql/reader.py", "def f():\n    from pyspark.sql import SparkSession"),
        ("dags/build/factory.py", "from tidewheel.jobs.update import update"),
        ("dags/build/factory.py", "class A:\n    import tidewheel.sql"),
        ("dags/build/factory.py", "def f():\n    import pyspark"),
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
        ("dags/build/factory.py", "def f():\n    from tidewheel.jobs.update import update"),
        ("tidewheel/cli.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import tidewheel.sql"),
        ("tidewheel/cli.py", "def f():\n    import pyarrow"),
    ],
)
def test_an_allowed_import_passes(path, line):
    source = Source(path, line)
    assert not import_faults(source) + bare_room_faults(source) + ban_faults(source)


@pytest.mark.parametrize(
    "path", ["local/hand.py", "jobs/update.py", "commits/commit.py", "sql/reader.py", "tidewheel/cli.py"]
)
@pytest.mark.parametrize(
    "line",
    [
        "from tidewheel.queries.literature.engines import ENGINES",
        "def f():\n    from tidewheel.queries.literature import engines",
        "from tidewheel.queries import literature",
        "import tidewheel.queries.literature.joins.eager",
    ],
)
def test_the_literature_is_not_for_who_serves_an_archive(path, line):
    assert literature_faults(Source(path, line))
    assert not literature_faults(Source("tidewheel/commands/tracing.py", line))
    assert not literature_faults(Source(path, "from tidewheel.queries.statements import plan"))


@pytest.mark.parametrize(
    "line", ["import sql", "from jobs.update import update", "def f():\n    import indexing.core.slots"]
)
def test_a_bare_room_is_seen(line):
    assert bare_room_faults(Source("tidewheel/cli.py", line))


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("benchmarks/process/scheduled.py", "from tests.support.archives.small_archive import SmallArchive"),
        ("benchmarks/standing/feed.py", "def f():\n    import tests.conftest"),
        ("scripts/compose_file.py", "from benchmarks import windows"),
    ],
)
def test_a_guest_that_imports_the_other_way_is_seen(path, line):
    assert guest_faults(Source(path, line))
    assert not guest_faults(Source("tests/house/test_soak.py", "from benchmarks.process.soak import Soak"))


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
