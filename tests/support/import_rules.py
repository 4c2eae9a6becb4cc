"""Who may import what, and what nobody may call where: each rule is a row of a table."""

from dataclasses import dataclass
from pathlib import Path

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
STATEMENTS = "tidewheel.queries.statements tidewheel.indexing"
# What is decided of queries, without what is reproduced of the literature alone.
DECISIONS = (
    f"{QUERIES} tidewheel.queries.kernels tidewheel.queries.standing tidewheel.queries.planning"
    " tidewheel.queries.scheduling tidewheel.queries.statements tidewheel.queries.derivations"
)
SHELF = f"tidewheel.queries.literature tidewheel.queries.literature.state {STATEMENTS}"
LOCAL = (
    f"tidewheel.commits tidewheel.indexing.* {DECISIONS} tidewheel.sql tidewheel.storage deltalake duckdb numpy pyarrow"
)
DERIVED = "tidewheel.local tidewheel.local.derived"
PARTIALS = f"{DERIVED} tidewheel.local.partials tidewheel.local.partials.memory"
SPARK = "tidewheel.commits tidewheel.indexing.* tidewheel.storage pyspark py4j delta deltalake pyarrow"

# By path: the longest prefix of a file's path is its row.
RULES = {
    "indexing": Rule(_names("tidewheel.indexing"), never=OUTSIDE),
    "indexing/core": Rule(_names(CORE), never=OUTSIDE),
    "indexing/schedule": Rule(_names(f"{CORE} tidewheel.indexing.schedule"), never=OUTSIDE),
    "indexing/rules": Rule(_names(f"{CORE} tidewheel.indexing.schedule tidewheel.indexing.rules"), never=OUTSIDE),
    "indexing/cost": Rule(_names(f"{CORE} tidewheel.indexing.cost"), never=OUTSIDE),
    "indexing/toml": Rule(_names(f"{CORE} tidewheel.indexing.schedule tidewheel.indexing.toml"), never=OUTSIDE),
    "indexing/archive_file": Rule(
        _names(f"{CORE} tidewheel.indexing.schedule tidewheel.indexing.toml tidewheel.indexing.archive_file"),
        never=OUTSIDE,
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
            " tidewheel.indexing tidewheel.indexing.core"
        ),
        never=OUTSIDE,
    ),
    "queries/derivations": Rule(_names("tidewheel.queries.derivations tidewheel.indexing"), never=OUTSIDE),
    "queries/statements": Rule(_names(STATEMENTS), never=OUTSIDE),
    # The literature's engines stand on plans; who serves an archive stands on none of them (LITERATURE_READERS).
    "queries/literature": Rule(
        _names(
            f"{QUERIES} {SHELF} tidewheel.queries.literature.patterns tidewheel.queries.planning"
            " tidewheel.queries.scheduling tidewheel.queries.standing"
        ),
        never=OUTSIDE,
    ),
    "queries/literature/state": Rule(_names(f"tidewheel.queries.literature.state {STATEMENTS}"), never=OUTSIDE),
    "queries/literature/patterns": Rule(
        _names(f"{QUERIES} {SHELF} tidewheel.queries.literature.patterns tidewheel.queries.scheduling"),
        never=OUTSIDE,
    ),
    # The same decisions over arrays: still without any I/O.
    "queries/kernels": Rule(
        _names(f"{QUERIES} tidewheel.queries.kernels tidewheel.indexing numpy pyarrow"), never=OUTSIDE
    ),
    "storage": Rule(_names("tidewheel.storage tidewheel.indexing.* arro3 deltalake pyarrow")),
    "commits": Rule(_names("tidewheel.commits tidewheel.indexing.* tidewheel.storage deltalake pyarrow")),
    # The same work as in jobs, in this process.
    "local": Rule(_names(f"tidewheel.local {LOCAL}")),
    # Archives derived of others, what is folded of their batches, what is answered of that, and what people ask.
    "local/derived": Rule(_names(f"{DERIVED} {LOCAL}")),
    "local/partials": Rule(_names(f"{PARTIALS} {LOCAL} datasketches")),
    "local/answers": Rule(_names(f"tidewheel.local.answers {PARTIALS} {LOCAL}")),
    "local/standing": Rule(_names(f"tidewheel.local.standing tidewheel.local.answers {PARTIALS} {LOCAL}")),
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
        inside=_names("tidewheel tidewheel.commits tidewheel.storage psutil sqlalchemy"),  # Airflow brings both
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

# The literature's engines show how an archive's stream would fare in them: nothing else of tidewheel asks them.
LITERATURE = "tidewheel.queries.literature"
LITERATURE_READERS = (
    "queries/literature/",
    "tidewheel/plans.py",
    "tidewheel/commands/tracing.py",
    "tidewheel/views/tracing.py",
    "tidewheel/isolation_measures.py",
    "tidewheel/commands/isolation.py",
    "tidewheel/views/isolation.py",
    "tidewheel/stream_file.py",
    "tidewheel/commands/stream_plan.py",
    "tidewheel/views/stream_plans.py",
)

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
