"""SQL texts of a standing query as DuckDB's syntax trees, and trees as SQL again; types from empty tables.

A function that gives another result on the next call, a subquery, a window function: refused, as an answer has to be
the same however often it is computed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import duckdb

from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.printable import first_line
from tidewheel.queries.aggregates import HOLISTIC, MAKERS
from tidewheel.queries.operations.approximate import DistinctSketches
from tidewheel.sql.connections import open_connection
from tidewheel.sql.guard import syntax_nodes, syntax_tree
from tidewheel.sql.quoting import quote_identifier

Node = dict[str, Any]
# Words that do not stand in double quotes.
_WORD = re.compile(r'(?<!")\b\w+\b(?!")')


class Refused(Exception):
    """A key of the query whose SQL cannot be taken."""

    def __init__(self, key: str, wrong: str, remedy: str) -> None:
        super().__init__(wrong)
        self.key, self.wrong, self.remedy = key, wrong, remedy


@dataclass
class SelectParser:
    """Parses the SQL of queries over the same columns; `columns` by their DuckDB types, `sketches` of a library."""

    columns: Mapping[str, str]
    connection: duckdb.DuckDBPyConnection = field(default_factory=open_connection)
    sketches: DistinctSketches | None = None

    def __post_init__(self) -> None:
        listed = ", ".join(f"{quote_identifier(name)} {kind}" for name, kind in self.columns.items())
        self.connection.execute(f"CREATE OR REPLACE TABLE records ({listed})")
        rows = self.connection.execute(
            "SELECT function_name, bool_or(function_type = 'aggregate'), bool_or(stability <> 'CONSISTENT') "
            "FROM duckdb_functions() GROUP BY ALL"
        ).fetchall()
        self._aggregates = {name for name, is_aggregate, _ in rows if is_aggregate} | MAKERS.keys() | set(HOLISTIC)
        self._unstable = {name for name, _, unstable in rows if unstable}

    def expressions(self, key: str, text: str) -> list[Node]:
        """The expressions of a text that would stand behind SELECT."""
        try:
            statements = syntax_tree(self.connection, f"SELECT {text}\n")
        except InvalidInput as error:
            raise Refused(key, error.message, self._to_write(text)) from error
        node = statements[0]["node"] if len(statements) == 1 else {}
        empty = node.get("from_table", {}).get("type") == "EMPTY" and not node.get("modifiers")
        if node.get("type") != "SELECT_NODE" or not empty or node["group_expressions"] or node["where_clause"]:
            raise Refused(key, "not expressions alone", "give each part of the query its own key")
        for one in syntax_nodes(node["select_list"]):
            self._check(key, one)
        return list(node["select_list"])

    def sql_of(self, node: Node) -> str:
        """A syntax tree as SQL again, without its alias."""
        tree = json.loads(self._serialized("SELECT 1"))
        tree["statements"][0]["node"]["select_list"] = [{**node, "alias": ""}]
        answers = self.connection.execute("SELECT json_deserialize_sql(?::JSON)", [json.dumps(tree)]).fetchall()
        return str(answers[0][0]).removeprefix("SELECT ")

    def types_of(self, key: str, table: str, expressions: list[str], rest: str = "") -> list[str]:
        """The DuckDB types of expressions over a table."""
        if not expressions:
            return []
        query = f"DESCRIBE SELECT {', '.join(f'({one})' for one in expressions)} FROM {table} {rest}"
        try:
            return [row[1] for row in self.connection.execute(query).fetchall()]
        except duckdb.Error as error:
            raise Refused(key, first_line(error), f"known columns are {', '.join(self.columns)}") from error

    def is_aggregate(self, node: Node) -> bool:
        """Whether a function here folds records. Two names are scalar functions too, of more arguments."""
        if node.get("class") != "FUNCTION" or node["is_operator"]:
            return False
        name, count = node["function_name"].lower(), len(node["arguments"])
        return name in self._aggregates and not (name in ("gcd", "range") and count > 1)

    def _to_write(self, text: str) -> str:
        """What to do about a text that cannot be parsed: as often as not, a column is a word of SQL as well."""
        query = "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category <> 'unreserved'"
        words = {word for (word,) in self.connection.execute(query).fetchall()} & set(_WORD.findall(text.lower()))
        bare = [quote_identifier(name) for name in self.columns if name.lower() in words]
        return (
            f"the name of a column that is a word of SQL too stands in double quotes: {', '.join(bare)}"
            if bare
            else "write it as DuckDB would take it after SELECT"
        )

    def _serialized(self, query: str) -> str:
        return str(self.connection.execute("SELECT json_serialize_sql(?)", [query]).fetchall()[0][0])

    def _check(self, key: str, node: Node) -> None:
        kind = node.get("class")
        if kind == "SUBQUERY":
            raise Refused(key, "a subquery", "a standing query reads its archive's records only")
        if kind == "WINDOW":
            raise Refused(key, "a window function", "the query's window is window; fold with an aggregate")
        if kind == "STAR":
            raise Refused(key, "a star", "name what is answered")
        if kind == "PARAMETER":
            raise Refused(key, "a parameter", "write the value")
        if kind == "FUNCTION" and node["function_name"].lower() in self._unstable:
            name = node["function_name"]
            raise Refused(key, f"{name} gives another result on each call", "use columns of the record")
