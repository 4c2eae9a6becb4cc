"""The check of other people's SQL: one SELECT that reads a session's views, its macros and its own WITH queries.

The sandbox already keeps a statement from files that are not the version's. This check closes the rest: naming one
of the version's files directly would show records that have expired, and COPY could write over it. It looks at
DuckDB's own syntax tree, in which DuckDB 2.0 has INSERT, DELETE and COPY inside WITH as well; kinds of node that
are not listed here are refused. So are functions that open files, tell of the program instead of its records or take
SQL as a text: `sql.functions` knows each.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import duckdb

from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.printable import one_line
from tidewheel.sql.engine.connections import open_connection
from tidewheel.sql.engine.quoting import Sql, quote_literal
from tidewheel.sql.session_views import ALONE
from tidewheel.sql.statements.functions import READING, Kind, known_functions

# The macros over `live`.
PROBES = frozenset({"probe", "probe_range"})
QUERIES = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
SOURCES = frozenset(
    {"EMPTY", "BASE_TABLE", "TABLE_FUNCTION", "SUBQUERY", "JOIN", "EXPRESSION_LIST", "PIVOT", "SHOW_REF"}
)
SHOWN = frozenset({"DESCRIBE", "SUMMARY"})
QUOTE_WORDS = 'a column whose name is a word of SQL, such as at, stands in double quotes: "at"'
_NOT_SELECT = "Only SELECT statements"
_PLAIN_NAME = re.compile(r"\w+")


@dataclass(frozen=True)
class Surroundings:
    """The views that a query may read, by name, and whether one of them can be probed."""

    views: tuple[str, ...]
    probes: bool

    @property
    def remedy(self) -> str:
        if ALONE in self.views:
            further = ", ".join(name for name in self.views if "." in name)
            return f"select from the view {ALONE}" + (f", or from {further}" if further else "")
        return f"select from {', '.join(self.views)}"

    @property
    def functions(self) -> frozenset[str]:
        """Return the functions allowed behind FROM: those that read nothing but their arguments, and the macros."""
        taken = (name for name, kind in known_functions().tables.items() if kind in READING)
        return frozenset((*taken, *(PROBES if self.probes else ())))


def checked_query(connection: duckdb.DuckDBPyConnection, query: str, around: Surroundings) -> Sql:
    """The query, if it is one SELECT that reads what it may."""
    statements = syntax_tree(connection, query)
    if len(statements) != 1:
        raise InvalidInput(f"{len(statements)} statements were given", "give one SELECT")
    nodes = list(syntax_nodes(statements))
    with_queries: set[tuple[str, ...]] = {(name,) for node in nodes for name in _with_names(node)}
    behind_from = {id(node["function"]) for node in nodes if node.get("type") == "TABLE_FUNCTION"}
    for node in nodes:
        _check(node, around, with_queries)
        if "function_name" in node and id(node) not in behind_from:
            refuse_call(node, READING, around.remedy)
    return Sql(query)


def checked_filter(connection: duckdb.DuckDBPyConnection, where: str, around: Surroundings) -> Sql:
    """The text, if it is one expression over the columns of `live`."""
    # An expression is what parses both ways: "1) OR (1" fails alone, "a FROM b" and "a; b" fail in parentheses.
    for query in (f"SELECT {where}", f"SELECT (\n{where}\n)"):
        try:
            checked_query(connection, query, around)
        except InvalidInput as error:
            raise InvalidInput(f"the filter {where!r} is not one expression: {error.message}", error.remedy) from error
    return Sql(where)


def archives_named(query: str) -> list[str]:
    """The names that a query selects from, without those of its WITH queries."""
    with open_connection() as connection:
        nodes = list(syntax_nodes(syntax_tree(connection, query)))
    with_queries = {name for node in nodes for name in _with_names(node)}
    named = {".".join(node["qualified_name"]["path"]) for node in nodes if node.get("type") == "BASE_TABLE"}
    if ALONE in {name.lower() for name in named} - with_queries:
        raise InvalidInput(
            f"{ALONE} is the view of one archive, and none was named",
            f"name it before the query, or select from archives by their names instead of {ALONE}",
        )
    return sorted(name for name in named if name.lower() not in with_queries)


def refuse_call(node: Mapping[str, Any], taken: frozenset[Kind], remedy: str) -> None:
    """Refuse a call of a kind that is not taken."""
    if wrong := known_functions().why_refused(node, taken):
        raise InvalidInput(wrong, remedy)


def syntax_tree(connection: duckdb.DuckDBPyConnection, query: str) -> list[Any]:
    call = f"SELECT json_serialize_sql(CAST({quote_literal(query)} AS VARCHAR))"
    answer = json.loads(connection.sql(call).fetchall()[0][0])
    if answer["error"]:
        said = one_line(answer["error_message"])
        wrong = "it is no SELECT, and a query only reads" if said.startswith(_NOT_SELECT) else said
        raise InvalidInput(f"the query cannot be run: {wrong}", f"give one SELECT; {QUOTE_WORDS}")
    return list(answer["statements"])


def syntax_nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Every object of the tree."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def _with_names(node: dict[str, Any]) -> list[str]:
    names = [entry["key"] for entry in node.get("cte_map", {}).get("map", [])]
    for name in names:
        # A name like 'file.parquet' would be a file wherever the WITH query is out of sight.
        if not _PLAIN_NAME.fullmatch(name):
            raise InvalidInput(f"a WITH query cannot be named {name!r}", "use letters, digits and underscores")
    return [name.lower() for name in names]


def _check(node: dict[str, Any], around: Surroundings, with_queries: set[tuple[str, ...]]) -> None:
    kind = node.get("type")
    if "cte_map" in node and kind not in QUERIES:
        raise InvalidInput(f"a query here only reads, it cannot do {_words(kind)}", "give one SELECT")
    if "alias" in node and "sample" in node and "class" not in node and kind not in SOURCES:
        raise InvalidInput(f"a query cannot read from {_words(kind)} here", around.remedy)
    _check_source(kind, node, around, with_queries)


def _check_source(kind: Any, node: dict[str, Any], around: Surroundings, with_queries: set[tuple[str, ...]]) -> None:
    """Refuse a table, a table function or a SHOW that the query may not name."""
    if kind == "BASE_TABLE":
        views = {tuple(name.lower().split(".")) for name in around.views}
        _check_name(node, views | with_queries, "table", around.remedy)
    elif kind == "TABLE_FUNCTION":
        known = f"known are {', '.join(sorted(around.functions))}"
        _check_name(node["function"], {(name,) for name in around.functions}, "table function", known)
    elif kind == "SHOW_REF" and node["show_type"] not in SHOWN:
        raise InvalidInput("SHOW has nothing to list here", f"use DESCRIBE {around.views[-1]}")


def _check_name(node: dict[str, Any], known: Collection[tuple[str, ...]], what: str, remedy: str) -> None:
    """One name that is known. The tree spells a name twice, and both must say so."""
    path = list(node["qualified_name"]["path"])
    qualifiers = [node.get(part) for part in ("catalog_name", "catalog", "schema_name", "schema")]
    spelled = [part for part in (*qualifiers, node.get("table_name"), node.get("function_name")) if part]
    for name in (path, spelled):
        if tuple(part.lower() for part in name) not in known:
            raise InvalidInput(f"there is no {what} {'.'.join(name)} here", remedy)


def _words(kind: Any) -> str:
    return str(kind).removesuffix("_QUERY_NODE").removesuffix("_NODE")
