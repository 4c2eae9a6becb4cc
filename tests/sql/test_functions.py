"""Every function of DuckDB is in the table, of its kind; what a kind may not do passes no clause that people write."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.support.reader_sweep import Environment
from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.standing.query_file import parse_query_file
from tidewheel.sql.engine.connections import open_connection
from tidewheel.sql.statements.functions import READING, REPEATED, WORDS, Functions, Kind, known_functions
from tidewheel.sql.statements.guard import Surroundings, checked_filter, checked_query, syntax_nodes
from tidewheel.sql.statements.select_parser import Refused, SelectParser
from tidewheel.sql.statements.selects import read_query

LIVE = Surroundings(("live",), probes=True)
HELD = Path(__file__).parent / "functions_of_duckdb_1_5.txt"
LISTED = (
    "SELECT DISTINCT function_type IN ('table', 'table_macro', 'pragma') AS is_table, lower(function_name) AS name "
    "FROM duckdb_functions() ORDER BY ALL"
)
# In no list of DuckDB's: what its parser alone knows, and a kind that goes by the number of arguments.
PARSED = WORDS | {"unnest", "age(1)"}
OTHERS = {
    version: Environment(version, (f"duckdb{version}.*", "pytz"), ()) for version in ("==1.5", "==2.0")
}  # fmt: skip


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """As the sandbox has it: the same extensions."""
    with open_connection() as connection:
        yield connection


def held() -> set[tuple[bool, str]]:
    """What DuckDB 1.5 lists."""
    found, is_table = set(), False
    for line in HELD.read_text().splitlines():
        if line.startswith("["):
            is_table = line == "[tables]"
        elif not line.startswith("#"):
            found |= {(is_table, name.strip().lower()) for name in line.split(",") if name.strip()}
    return found


def lacking(listed: set[tuple[bool, str]], known: Functions) -> list[str]:
    return [name for is_table, name in sorted(listed) if name not in (known.tables if is_table else known.functions)]


def test_every_function_is_in_the_table(connection: duckdb.DuckDBPyConnection) -> None:
    known = known_functions()
    listed = set(connection.execute(LISTED).fetchall())
    assert len(listed) > 1000
    assert lacking(listed, known) == []
    assert lacking(held(), known) == []
    of_none = {(False, name) for name in known.functions} | {(True, name) for name in known.tables}
    assert {name for _, name in of_none - listed - held()} <= PARSED


@pytest.mark.nightly
@pytest.mark.parametrize("version", OTHERS)
def test_every_function_of_other_versions_is_in_the_table(tmp_path: Path, version: str) -> None:
    """The newest patch of each: it may have functions that the one installed here has not."""
    try:
        python = OTHERS[version].made(tmp_path)
    except subprocess.CalledProcessError as error:
        if os.environ.get("TIDEWHEEL_REQUIRE_READERS"):
            raise
        pytest.skip(f"NOT SWEPT: DuckDB {version} cannot be had from PyPI here: {error}")
    ask = f"import duckdb, json; print(json.dumps(duckdb.execute({LISTED!r}).fetchall()))"
    said = subprocess.run([python, "-c", ask], check=True, capture_output=True, text=True).stdout
    listed = {(is_table, name) for is_table, name in json.loads(said)}
    assert lacking(listed, known_functions()) == []
    if version == "==1.5":
        assert listed >= held()


def test_no_kind_is_milder_than_what_duckdb_says(connection: duckdb.DuckDBPyConnection) -> None:
    """DuckDB calls a function unstable only if it is; a macro is what the functions are that it calls."""
    known = known_functions()
    unstable = "SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE stability <> 'CONSISTENT'"
    told = {name for (name,) in connection.execute(unstable).fetchall()}
    assert len(told) > 25
    assert {name for name in told if known.functions[name] is Kind.REPEATABLE} == set()
    macros = connection.execute(
        "SELECT DISTINCT function_name, macro_definition FROM duckdb_functions() WHERE function_type = 'macro'"
    ).fetchall()
    milder = []
    for name, text in macros:
        (said,) = connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [f"SELECT {text}"]).fetchall()[0]
        for node in syntax_nodes(json.loads(said)["statements"]):
            if node.get("function_name") == "list_aggr":
                continue  # list_sum and its like call it with their own aggregate
            inner = known.kind_of(node["function_name"], len(node["arguments"])) if "arguments" in node else None
            words = {known.functions[one] for one in node.get("column_names", ()) if one in WORDS}
            for kind in {inner, *words} - {None, Kind.REPEATABLE, known.functions[name.lower()]}:
                milder.append((name, kind))
    assert milder == []
    assert len(macros) > 100


def calls(known: Mapping[str, Kind], taken: frozenset[Kind]) -> list[str]:
    """A call of everything that is not taken."""
    refused = {name.partition("(")[0]: name for name, kind in known.items() if kind not in taken}
    plain = [name for name in refused if name.replace("_", "").isalnum()]
    return [f'"{name}"({"v" if refused[name].endswith("(1)") else ""})' for name in plain]


SQL = (
    "SELECT {}", "SELECT * FROM live WHERE {} IS NULL", "SELECT count(*) FROM live ORDER BY {}", "SELECT upper({})",
    "SELECT (SELECT {})", "SELECT sum(size) OVER (ORDER BY {}) FROM live", "SELECT list_apply([1], lambda x: {})",
    "SELECT * FROM range({})", "WITH a AS (SELECT {}) FROM a", "FROM live LIMIT ({})", "SELECT system.main.{}",
)  # fmt: skip
FROM = (
    "SELECT * FROM live, LATERAL (SELECT * FROM {})", "SELECT (SELECT 1 FROM {})", "WITH a AS (FROM {}) FROM a",
    "FROM live ORDER BY (SELECT 1 FROM {})", "SUMMARIZE FROM {}", "SELECT * FROM system.main.{}",
)  # fmt: skip


def test_no_function_that_tells_of_files_passes_in_sql(connection: duckdb.DuckDBPyConnection) -> None:
    known = known_functions()
    refused = calls(known.functions, READING)
    tables = calls(known.tables, READING)
    queries = [f"SELECT {call}" for call in refused] + [f"FROM {call}" for call in tables]
    queries += [form.format(call) for form in SQL for call in ("json_serialize_plan('x')", "stats(1)", "getenv('x')")]
    queries += [form.format(call) for form in FROM for call in ("query('from x')", "query_table('x')", "glob('/*')")]
    assert [query for query in queries if is_taken(connection, query)] == []
    assert len(queries) > 200
    taken = [name for name, kind in known.functions.items() if kind in READING and name.isidentifier()]
    assert [name for name in taken if not is_taken(connection, f'SELECT "{name}"(1, 2)')] == []


def is_taken(connection: duckdb.DuckDBPyConnection, query: str) -> bool:
    try:
        checked_query(connection, query, LIVE)
    except InvalidInput:
        return False
    return True


def test_a_filter_is_checked_as_a_query_is(connection: duckdb.DuckDBPyConnection) -> None:
    for call in ("json_serialize_plan('x')", "upper(current_setting('a'))"):
        with pytest.raises(InvalidInput, match=r"json_serialize_plan takes SQL|current_setting tells of the program"):
            checked_filter(connection, f"{call} = key", LIVE)


CLAUSES: tuple[tuple[str, str], ...] = (
    ("where", "{} IS NULL"), ("where", "v > 1 AND upper(CAST({} AS VARCHAR)) = 'A'"), ("group_by", "{} AS z"),
    ("select", "max({}) AS z"), ("select", "count(*) FILTER (WHERE {} IS NULL) AS z"), ("select", "count(*) + {} AS z"),
    ("select", "CASE WHEN {} IS NULL THEN count(*) END AS z"), ("having", "{} IS NULL"), ("having", "max({}) > 1"),
    ("order_by", "{}"), ("order_by", "n, max({}) DESC"), ("order_by", "n + CAST({} AS BIGINT) NULLS FIRST"),
    ("where", "list_apply([1], lambda x: {})[1] = 1"),
)  # fmt: skip


def faults(parser: SelectParser, clause: str, text: str) -> list[str]:
    """What is wrong with a query of such a clause; an error of the program raises."""
    values: dict[str, Any] = {"of": "m", "select": "count(*) AS n", "window": "1m", "revise": "1m", "keep": "1h"}
    values[clause] = [text] if clause == "group_by" else text
    values |= {"limit": 1} if clause == "order_by" else {}
    said = "[query]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())
    return [fault.wrong for fault in read_query(parser, parse_query_file(said, "q.toml")[0])[1]]


@pytest.fixture(scope="module")
def parser() -> SelectParser:
    return SelectParser({"k": "VARCHAR", "v": "BIGINT", "x": "DOUBLE", "t": "TIMESTAMP WITH TIME ZONE"})


def test_no_function_that_is_not_repeatable_passes_in_a_query_file(parser: SelectParser) -> None:
    refused = [*calls(known_functions().functions, REPEATED), *WORDS, *calls(known_functions().tables, REPEATED)]
    passed = []
    for call in refused:
        name = call.partition("(")[0].strip('"')
        for read in (parser.expressions, parser.orders):
            with suppress(Refused):
                read("select", call)
                passed.append(name)
    # What the catalogue folds, and what is a repeatable function as well as a table.
    both = {name for name in passed if known_functions().kind_of(name) is Kind.REPEATABLE}
    assert set(passed) - both <= parser.folding
    assert both == {"histogram"}
    assert len(refused) > 200


@pytest.mark.parametrize("clause", CLAUSES)
@pytest.mark.parametrize(
    ("inner", "wrong"),
    [
        ("(SELECT count(*) FROM read_text('/etc/passwd'))", "a subquery"),
        ("(SELECT 1)", "a subquery"),
        ("row_number() OVER ()", "a window function"),
        ("v IN (SELECT 1)", "a subquery"),
        ("#1", "a column's number"),
        ("?", "a parameter"),
        ("unnest([1])", "gives rows"),
        ("glob('/*')", "no function glob"),
        ("read_text('/etc/passwd')", "no function read_text"),
        ("age(t)", "age gives another result"),
        ("current_date", "current_date gives another result"),
        ("random()", "random gives another result"),
        ("list_aggregate([v], 'reservoir_quantile')", "list_aggregate gives another result"),
        ("stats(v)", "stats tells of the program"),
        ("json_serialize_plan('x')", "json_serialize_plan takes SQL"),
    ],
)
def test_no_clause_of_a_query_file_reads_anything_else(
    parser: SelectParser, clause: tuple[str, str], inner: str, wrong: str
) -> None:
    key, form = clause
    assert wrong in " ".join(faults(parser, key, form.format(inner)))
    assert faults(parser, "where", "age(t, t) > INTERVAL 1 DAY") == []


@pytest.mark.parametrize(
    ("clause", "text"),
    [
        ("order_by", "1"), ("order_by", "all"), ("order_by", "'a'"), ("order_by", "n LIMIT 2"),
        ("where", "v > 1 AS z"),
        ("select", "count(*) HAVING true"), ("select", "count(*) QUALIFY true"),
        ("select", "count(*) USING SAMPLE 3"), ("order_by", "n; SELECT 1"),
        ("order_by", "n) UNION (SELECT 1"), ("where", "true) OR (true"), ("group_by", "k AS z GROUP BY ALL"),
    ],
)  # fmt: skip
def test_a_clause_is_nothing_but_itself(parser: SelectParser, clause: str, text: str) -> None:
    assert faults(parser, clause, text) != []
