"""A statement rewritten so that each of its rows says when it ends and where it lies.

Beside the user's columns each query of the result has _until, _place, _hash and _time; what they are by form is said in
`queries/derivations/forms.py`, which judges this file. The user's expressions stay as they are written:

    select f.bytes, d.name from netflow f join dns d on f.dst = d.ip

becomes

    select f.bytes, d.name, least(f._until, d._until) as _until, greatest(f._place, d._place) as _place, ...
    from (living records of netflow) f join (living records of dns) d on f.dst = d.ip
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import duckdb

from tidewheel.indexing.errors import InvalidInput
from tidewheel.sql.derivations.lives import Life, joined_life
from tidewheel.sql.derivations.row_numbers import RowNumbers
from tidewheel.sql.derivations.sources import HIDDEN, Relation, living, window_of, windowed
from tidewheel.sql.derivations.trees import (
    Node,
    Trees,
    check_select,
    conjuncts,
    is_exists,
    negated_exists,
    without,
)
from tidewheel.sql.engine.quoting import Sql, join, quote_identifier
from tidewheel.sql.statements.guard import syntax_nodes


@dataclass(frozen=True)
class Rewriting:
    """Rewrites statements over some relations, as of one moment (a SQL literal)."""

    connection: duckdb.DuckDBPyConnection
    relations: Mapping[str, Relation]
    at: Sql

    @cached_property
    def trees(self) -> Trees:
        return Trees(self.connection)

    def rewritten(self, text: str) -> Sql:
        """Return the statement's rows that end after the moment, with their ends and slots."""
        query = self._query(self.trees.statement(text))
        return Sql(f"SELECT * EXCLUDE (_hash, _time) FROM ({query}) WHERE _until > {self.at}")

    def _query(self, node: Node) -> Sql:
        if node["type"] == "SET_OPERATION_NODE":
            return self._set_operation(node)
        if node["type"] != "SELECT_NODE":
            raise InvalidInput(f"a derived archive takes no {node['type']}", "write one SELECT")
        check_select(node)
        if any(modifier["type"] == "DISTINCT_MODIFIER" for modifier in node.get("modifiers", ())):
            return self._distinct(self._select(without(node, "modifiers")))
        return self._select(node)

    # Set operations and duplicates.

    def _set_operation(self, node: Node) -> Sql:
        kind, keeps_duplicates = node["setop_type"], node["setop_all"]
        parts = [self._query(child) for child in node["children"]]
        if kind == "UNION":
            union = join(" UNION ALL ", (Sql(f"({part})") for part in parts))
            return union if keeps_duplicates else self._distinct(union)
        if kind == "EXCEPT" and keeps_duplicates:
            return self._except_all(parts[0], parts[1])
        raise InvalidInput(
            f"a derived archive takes no {kind}{' ALL' if keeps_duplicates else ''}",
            "use [NOT] EXISTS with the columns that must be equal, or EXCEPT ALL",
        )

    def _distinct(self, query: Sql) -> Sql:
        """Keep of equal rows the one that ends last."""
        life = "max({'u': _until, 'p': _place, 'h': _hash, 't': _time})"
        return Sql(
            f"SELECT * EXCLUDE (_life), _life.u AS _until, _life.p AS _place, _life.h AS _hash, _life.t AS _time FROM"
            f" (SELECT * EXCLUDE (_until, _place, _hash, _time), {life} AS _life FROM ({query}) GROUP BY ALL)"
        )

    def _except_all(self, left: Sql, right: Sql) -> Sql:
        """Keep of equal rows as many as there are more on the left, those that end first."""
        names = self._names(left)
        same = join(" AND ", (Sql(f"l.{name} IS NOT DISTINCT FROM r.{other}") for name, other in zip(
            names, self._names(right), strict=True)))  # fmt: skip
        by = join(", ", names)
        return Sql(
            f"SELECT * EXCLUDE (_number, _many) FROM (SELECT *,"
            f" row_number() OVER (PARTITION BY {by} ORDER BY _until, _place, _hash) AS _number,"
            f" count(*) OVER (PARTITION BY {by}) AS _many FROM ({left})) l"
            f" WHERE _number <= _many - (SELECT count(*) FROM ({right}) r WHERE {same})"
        )

    def _names(self, query: Sql) -> list[Sql]:
        described = self.connection.execute(f"DESCRIBE {query}").fetchall()
        return [quote_identifier(name) for name, *_ in described if name not in HIDDEN]

    # One SELECT.

    def _select(self, node: Node) -> Sql:
        _refuse_subqueries([node["select_list"], node.get("qualify")])
        source, life = self._from(node["from_table"])
        parts = conjuncts(node.get("where_clause"))
        for one in parts:
            if is_exists(one):
                life = self._with_match(life, one)
        conditions = [self._condition(one) for one in parts]
        where = f" WHERE {join(' AND ', conditions)}" if conditions else ""
        numbered = RowNumbers(self.trees, life)
        columns = [numbered.column(one) for one in self._columns(node)]
        qualify = numbered.qualify(node.get("qualify"))
        shown = numbered.shortened(node.get("qualify"), self._columns(node))
        return Sql(f"SELECT {join(', ', columns)}, {shown.columns()} FROM {source}{where}{qualify}")

    def _columns(self, node: Node) -> list[Node]:
        """Return the columns of a SELECT; a star is written out, as it would take in what is hidden."""
        found: list[Node] = []
        for one in node["select_list"]:
            if one.get("class") == "STAR":
                found += self._star(one, node["from_table"])
            else:
                found.append(one)
        return found

    def _star(self, star: Node, table: Node) -> list[Node]:
        if star.get("exclude_list") or star.get("replace_list") or star.get("expr"):
            raise InvalidInput("a star with EXCLUDE, REPLACE or COLUMNS", "name the columns")
        wanted = star.get("relation_name")
        columns = [
            Sql(f"{quote_identifier(alias)}.{name}")
            for alias, query in self._aliases(table)
            if not wanted or wanted == alias
            for name in self._names(query)
        ]
        return [self.trees.expression(column) for column in columns]

    def _aliases(self, table: Node) -> list[tuple[str, Sql]]:
        if table["type"] == "JOIN":
            return [*self._aliases(table["left"]), *self._aliases(table["right"])]
        return [self._leaf(table)]

    def _condition(self, one: Node) -> Sql:
        negated = negated_exists(one)
        if negated is not None:
            return Sql(f"NOT EXISTS (SELECT 1 {self._matches(negated)})")
        if is_exists(one):
            return Sql(f"EXISTS (SELECT 1 {self._matches(one)})")
        _refuse_subqueries(one)
        return Sql(f"({self.trees.text_of(one)})")

    def _matches(self, exists: Node) -> Sql:
        """Return FROM and WHERE of what an EXISTS looks for."""
        inner = exists["subquery"]["node"]
        if inner["type"] != "SELECT_NODE":
            raise InvalidInput("EXISTS of a set operation", "write one EXISTS for each part")
        check_select(inner)
        source, _ = self._from(inner["from_table"])
        conditions = [self._condition(one) for one in conjuncts(inner.get("where_clause"))]
        return Sql(f"FROM {source}" + (f" WHERE {join(' AND ', conditions)}" if conditions else ""))

    def _with_match(self, life: Life, exists: Node) -> Life:
        """Return a row's life with its longest match's."""
        _, match = self._from(exists["subquery"]["node"]["from_table"])
        last = f"max({{'u': {match.until}, 'p': {match.place}, 'h': {match.row_hash}}})"
        longest = f"(SELECT {last} {self._matches(exists)})"
        return Life(
            Sql(f"least({life.until}, {longest}.u)"),
            Sql(f"greatest({life.place}, {longest}.p)"),
            life.row_hash,
            life.time,
        )

    # What stands behind FROM.

    def _from(self, table: Node) -> tuple[Sql, Life]:
        if table["type"] != "JOIN":
            alias, query = self._leaf(table)
            name = quote_identifier(alias)
            return Sql(f"({query}) AS {name}"), Life(*(Sql(f"{name}.{column}") for column in HIDDEN))
        left, one = self._from(table["left"])
        right, other = self._from(table["right"])
        kind = _join_kind(table)
        if kind == "ASOF":
            right = self._first_of_each_time(right, other, table)
        _refuse_subqueries(table.get("condition"))
        condition = f" ON {self.trees.text_of(table['condition'])}" if table.get("condition") else ""
        if table.get("using_columns"):
            condition = f" USING ({join(', ', map(quote_identifier, table['using_columns']))})"
        return Sql(f"{left} {kind} JOIN {right}{condition}"), joined_life(one, other, kind)

    def _leaf(self, table: Node) -> tuple[str, Sql]:
        """Return one input with its alias."""
        alias = str(table.get("alias") or "")
        if table["type"] == "SUBQUERY":
            if not alias:
                raise InvalidInput("a subquery behind FROM without a name", "write (select ...) as name")
            return alias, self._query(table["subquery"]["node"])
        if table["type"] == "BASE_TABLE":
            name = ".".join(table["qualified_name"]["path"])
            return alias or name, living(self._relation(name), self.at)
        if table["type"] == "TABLE_FUNCTION":
            window = window_of(table["function"], self.trees.text_of)
            return alias or window.archive, windowed(self._relation(window.archive), window, self.at)
        raise InvalidInput(f"a derived archive cannot read from {table['type']}", "read archives by their names")

    def _relation(self, name: str) -> Relation:
        if name not in self.relations:
            raise InvalidInput(f"there is no archive {name} here", f"there are {', '.join(sorted(self.relations))}")
        return self.relations[name]

    def _first_of_each_time(self, right: Sql, life: Life, table: Node) -> Sql:
        """Keep of right rows with the same keys and time one, so that a lookup takes the same each time."""
        alias = Sql(right.rpartition(" AS ")[2])
        by = [text for one in conjuncts(table["condition"]) for text in self._right_sides(one, alias)]
        if not by:
            raise InvalidInput("an as-of join without conditions on both sides", "write a.k = b.k and b.t < a.t")
        order = f"PARTITION BY {join(', ', by)} ORDER BY {life.row_hash} DESC"
        return Sql(f"(SELECT * FROM {right} QUALIFY row_number() OVER ({order}) = 1) AS {alias}")

    def _right_sides(self, condition: Node, alias: Sql) -> list[Sql]:
        if condition.get("class") != "COMPARISON":
            raise InvalidInput("an as-of join takes equal keys and one comparison of times", "a.k = b.k and b.t < a.t")
        sides = [condition["left"], condition["right"]]
        name = alias.strip('"')
        return [self.trees.text_of(one) for one in sides if one.get("column_names", [""])[0] == name]


def _join_kind(table: Node) -> str:
    kind = "ASOF" if table["ref_type"] == "ASOF" else str(table["join_type"])
    if kind not in ("INNER", "LEFT", "ASOF") or table["ref_type"] not in ("REGULAR", "CROSS", "ASOF"):
        raise InvalidInput(
            f"a derived archive takes no {table['ref_type']} {table['join_type']} join",
            "use inner, left and asof joins; exchange the sides of a right join",
        )
    if table["ref_type"] == "ASOF" and table["join_type"] != "INNER":
        raise InvalidInput("a derived archive takes no ASOF LEFT JOIN", "use asof join, and NOT EXISTS for the others")
    return "CROSS" if table["ref_type"] == "CROSS" else kind


def _refuse_subqueries(node: Any) -> None:
    for one in syntax_nodes(node):
        if one.get("class") == "SUBQUERY":
            kind = one.get("subquery_type")
            raise InvalidInput(
                "a derived archive takes no " + ("NOT IN or IN of a query" if kind == "ANY" else "scalar subquery"),
                "use [NOT] EXISTS, or a join",
            )
