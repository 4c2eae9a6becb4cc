"""DuckDB's syntax trees of statements: from text, back to text, and what of them a derived archive takes."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import duckdb

from tidewheel.indexing.errors import InvalidInput
from tidewheel.sql.engine.quoting import Sql
from tidewheel.sql.statements.functions import REPEATED
from tidewheel.sql.statements.guard import refuse_call, syntax_nodes, syntax_tree

Node = dict[str, Any]
_NOT_TAKEN: dict[str, tuple[str, str]] = {
    "group_expressions": ("GROUP BY", 'register a standing query with counts = "live" over the archives'),
    "having": ("HAVING", 'register a standing query with counts = "live" over the archives'),
    "sample": ("a sample", "take all rows: a sample differs each time"),
}
_MODIFIERS = {
    "LIMIT_MODIFIER": ("LIMIT", "keep the first of each group: QUALIFY row_number() OVER (...) <= n"),
    "LIMIT_PERCENT_MODIFIER": ("LIMIT", "keep the first of each group: QUALIFY row_number() OVER (...) <= n"),
    "ORDER_MODIFIER": ("ORDER BY", "leave it out: an archive is sorted by its key"),
}


@dataclass(frozen=True)
class Trees:
    """A parser and a printer of SQL."""

    connection: duckdb.DuckDBPyConnection

    def statement(self, text: str) -> Node:
        """Return the tree of one SELECT in which nothing is that a derived archive cannot take."""
        statements = syntax_tree(self.connection, text)
        if len(statements) != 1:
            raise InvalidInput(f"{len(statements)} statements were given", "give one SELECT")
        node: Node = statements[0]["node"]
        tables = {id(one["function"]) for one in syntax_nodes(node) if one.get("type") == "TABLE_FUNCTION"}
        for one in syntax_nodes(node):
            if "function_name" in one and id(one) not in tables and one.get("type") != "WINDOW_ROW_NUMBER":
                refuse_call(one, REPEATED, "leave it out: what is derived must be the same each time")
            if one.get("class") == "PARAMETER":
                raise InvalidInput("a parameter in a statement that is stored", "write the value")
        return node

    def expression(self, text: Sql) -> Node:
        node: Node = syntax_tree(self.connection, f"SELECT {text}")[0]["node"]["select_list"][0]
        return node

    def text_of(self, expression: Node) -> Sql:
        """Return an expression as SQL."""
        query = self._bare | {"select_list": [expression | {"alias": ""}]}
        return Sql(self.query_text(query).removeprefix("SELECT "))

    @cached_property
    def _bare(self) -> Node:
        """A SELECT of one constant, in which any expression can stand."""
        node: Node = syntax_tree(self.connection, "SELECT 1")[0]["node"]
        return node

    def query_text(self, node: Node) -> Sql:
        tree = {"error": False, "statements": [{"node": node, "named_param_map": []}]}
        answers = self.connection.execute("SELECT json_deserialize_sql(?::JSON)", [json.dumps(tree)]).fetchall()
        return Sql(str(answers[0][0]).rstrip(";"))


def check_select(node: Node) -> None:
    """Refuse by name what a SELECT of a derived archive may not have, with the way out."""
    for key, (words, remedy) in _NOT_TAKEN.items():
        if node.get(key):
            raise InvalidInput(f"a derived archive takes no {words}", remedy)
    for modifier in node.get("modifiers", ()):
        if modifier["type"] in _MODIFIERS:
            words, remedy = _MODIFIERS[modifier["type"]]
            raise InvalidInput(f"a derived archive takes no {words}", remedy)
        if modifier.get("distinct_on_targets"):
            raise InvalidInput("a derived archive takes no DISTINCT ON", "use QUALIFY row_number() OVER (...) <= 1")
    if node.get("cte_map", {}).get("map"):
        raise InvalidInput("a derived archive takes no WITH yet", "write the query as a subquery behind FROM")


def without(node: Node, *keys: str) -> Node:
    """Return a copy of a node in which lists of these names are empty."""
    found: Node = copy.deepcopy(node)
    for key in keys:
        found[key] = []
    return found


def conjuncts(condition: Node | None) -> list[Node]:
    """Return the parts of a condition that are joined by AND."""
    if not condition:
        return []
    if condition.get("type") == "CONJUNCTION_AND":
        return [part for child in condition["children"] for part in conjuncts(child)]
    return [condition]


def is_exists(node: Node) -> bool:
    return node.get("class") == "SUBQUERY" and node.get("subquery_type") == "EXISTS"


def negated_exists(node: Node) -> Node | None:
    """Return the EXISTS that a NOT stands before, if one does."""
    if node.get("type") == "OPERATOR_NOT" and is_exists(node["children"][0]):
        inner: Node = node["children"][0]
        return inner
    return None
