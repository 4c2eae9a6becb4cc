"""SQL texts of a standing query as DuckDB's syntax trees, and trees as SQL again; types from empty tables.

Every text of a query, whichever clause it is, goes through one check. What is not the same however often it is computed
is refused: a function that is not repeatable (`sql.functions`), a subquery, a window function.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import duckdb

from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.printable import first_line
from tidewheel.queries.aggregates import HOLISTIC, MAKERS
from tidewheel.queries.operations.approximate import DistinctSketches
from tidewheel.sql.engine.connections import open_connection
from tidewheel.sql.engine.quoting import quote_identifier
from tidewheel.sql.statements.functions import REPEATED, WORDS, known_functions
from tidewheel.sql.statements.guard import syntax_nodes, syntax_tree

Node = dict[str, Any]
_REFUSED = {
    "SUBQUERY": ("a subquery", "a standing query reads its archive's records only"),
    "WINDOW": ("a window function", "the query's window is window; fold with an aggregate"),
    "STAR": ("a star", "name what is answered"),
    "PARAMETER": ("a parameter", "write the value"),
    "POSITIONAL_REFERENCE": ("a column's number", "write its name"),
    "DEFAULT": ("a default", "write the value"),
}
_ROWS = frozenset({"unnest", "generate_subscripts", "regexp_split_to_table"})
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
            "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'aggregate'"
        ).fetchall()
        self.folding = frozenset(MAKERS) | frozenset(HOLISTIC)
        self._aggregates = {name for (name,) in rows} | self.folding
        self._bare = self._read("", "SELECT", "1")

    def expressions(self, key: str, text: str, named: Iterable[str] = ()) -> list[Node]:
        """The expressions of a text that would stand behind SELECT; beside columns it may use some names more."""
        node = self._read(key, "SELECT", text)
        return self._checked(key, node, "select_list", named)

    def orders(self, key: str, text: str, named: Iterable[str] = ()) -> list[Node]:
        """The orders of a text that would stand behind ORDER BY: each with its expression."""
        node = self._read(key, "SELECT 1 ORDER BY", text)
        modifiers = self._checked(key, node, "modifiers", named)
        if [one["type"] for one in modifiers] != ["ORDER_MODIFIER"]:
            raise Refused(key, "not an order", "write, for example, bytes desc")
        orders: list[Node] = modifiers[0]["orders"]
        if any(one["expression"]["class"] == "CONSTANT" for one in orders):
            raise Refused(
                key, "an order by a value, which is the same for all groups", "write, for example, bytes desc"
            )
        return orders

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
        """Tell whether a function here folds records. Two names are scalar functions too, of more arguments."""
        if node.get("class") != "FUNCTION" or node["is_operator"]:
            return False
        name, count = node["function_name"].lower(), len(node["arguments"])
        return name in self._aggregates and not (name in ("gcd", "range") and count > 1)

    def _read(self, key: str, before: str, text: str) -> Node:
        """The syntax tree of one SELECT, of which a text is the end."""
        try:
            statements = syntax_tree(self.connection, f"{before} {text}\n")
        except InvalidInput as error:
            raise Refused(key, error.message, self._to_write(text)) from error
        node: Node = statements[0]["node"] if len(statements) == 1 else {}
        return node

    def _checked(self, key: str, node: Node, part: str, named: Iterable[str]) -> list[Node]:
        """One part of a SELECT that is all there is to it, and holds nothing that is refused."""
        others = self._bare.keys() - {part, "select_list"}
        if node.keys() != self._bare.keys() or any(node[one] != self._bare[one] for one in others):
            raise Refused(key, "not expressions alone", "give each part of the query its own key")
        known = {name.lower() for name in (*self.columns, *named)}
        for one in syntax_nodes(node[part]):
            self._check(key, one, known)
        return list(node[part])

    def _to_write(self, text: str) -> str:
        """Return the remedy for a text that cannot be parsed: as often as not, a column is a word of SQL as well."""
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

    def _check(self, key: str, node: Node, known: Collection[str]) -> None:
        kind = node.get("class")
        if kind in _REFUSED:
            raise Refused(key, *_REFUSED[kind])
        call = node if kind == "FUNCTION" else _word(node, known)
        name = str(call["function_name"]).lower() if call else ""
        if call is None or name in self.folding:
            return
        if name in _ROWS:
            raise Refused(key, f"{name} gives rows, not a value", "store one record for each")
        if wrong := known_functions().why_refused(call, REPEATED):
            raise Refused(key, wrong, "use columns of the record, and functions that give the same on each call")


def _word(node: Node, known: Collection[str]) -> Node | None:
    """The call that DuckDB makes of a word like current_date where no column has the name."""
    if node.get("class") != "COLUMN_REF" or len(node["column_names"]) != 1:
        return None
    name = node["column_names"][0]
    return {"function_name": name, "arguments": []} if name.lower() in WORDS - set(known) else None
