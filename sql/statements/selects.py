"""The compilation of a standing query's SQL for an archive's columns: the select taken apart, everything typed.

1. Each text is read by DuckDB's own parser and must be expressions, nothing around them (`select_parser`).
2. In the select, each aggregate becomes a *call*: its arguments are SQL over the record, and where it stood a column
   named `call n` stands. What is left is SQL over calls and group columns.
3. Types come from DuckDB, asked on empty tables of the record's and of the calls' columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb

from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.toml.page import Fault
from tidewheel.queries.aggregates import MAKERS, Argument, aggregate
from tidewheel.queries.standing.query import TOLD_FIRST, TOLD_LAST, Call, Counts, Named, Query, QueryText, call_name
from tidewheel.sql.engine.quoting import quote_identifier
from tidewheel.sql.statements.guard import syntax_nodes
from tidewheel.sql.statements.select_parser import Node, Refused, SelectParser
from tidewheel.sql.statements.select_types import answer_type, argument_of

# Other words for aggregates of the catalogue.
SYNONYMS = {
    "count_star": "count_rows", "mean": "avg", "argmax": "arg_max", "max_by": "arg_max", "argmin": "arg_min",
    "min_by": "arg_min", "fsum": "sum", "kahan_sum": "sum", "sumkahan": "sum", "favg": "avg",
}  # fmt: skip
_NUMBER = re.compile(r"-?\d*\.?\d+")
_WORDS = re.compile(r"\W+")
_CALL = re.compile(call_name(0).replace("0", r"\d+"))


def read_query(parser: SelectParser, text: QueryText) -> tuple[Query | None, list[Fault]]:
    """The query, or all that is wrong with its SQL."""
    reading = _Reading(parser, text)
    for step in (reading.read_where, reading.read_groups, reading.read_outputs, reading.read_rest):
        reading.attempt(step)
    return (None, reading.faults) if reading.faults else (reading.query(), [])


def settled(text: QueryText, interval_us: int, epoch_us: int = 0) -> QueryText:
    """The text with the defaults that the archive decides; what is alive is known at ends of its slots."""
    terms = text.terms
    slide_us = terms.slide_us or interval_us
    by_slots = terms.counts is Counts.LIVE and not text.is_shifted
    offset_us = epoch_us % slide_us if by_slots else terms.offset_us
    return replace(text, terms=replace(terms, slide_us=slide_us, offset_us=offset_us))


@dataclass
class _Reading:
    """One query while it is being read."""

    parser: SelectParser
    text: QueryText
    faults: list[Fault] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    groups: list[Named] = field(default_factory=list)
    outputs: list[Named] = field(default_factory=list)
    having: str = ""
    order_by: str = ""

    def attempt(self, step: Callable[[], None]) -> None:
        try:
            step()
        except Refused as refused:
            self.faults.append(self.text.fault(refused.key, refused.wrong, refused.remedy))

    def query(self) -> Query:
        text = self.text
        return Query(
            name=text.name,
            of=text.of,
            calls=tuple(self.calls),
            outputs=tuple(self.outputs),
            groups=tuple(self.groups),
            where=text.where,
            having=self.having,
            order_by=self.order_by,
            limit=text.limit,
            terms=text.terms,
            technique=text.technique,
        )

    def read_where(self) -> None:
        if not self.text.where:
            return
        node = self._condition("where", self.text.where)
        if any(self.parser.is_aggregate(one) for one in syntax_nodes(node)):
            raise Refused("where", "an aggregate", "where looks at single records; use having")
        kinds = self.parser.types_of("where", "records", [self.text.where])
        if kinds != ["BOOLEAN"]:
            raise Refused("where", f"a {kinds[0]}, not a condition", "write a comparison")

    def read_groups(self) -> None:
        found = []
        for entry in self.text.group_by:
            node = self._one("group_by", entry)
            if any(self.parser.is_aggregate(one) for one in syntax_nodes(node)):
                raise Refused("group_by", f"{entry} holds an aggregate", "group by columns of the record")
            name = node["alias"] or (node["column_names"][-1] if node["class"] == "COLUMN_REF" else "")
            if not name:
                raise Refused("group_by", f"{entry} has no name", f"write {entry} as NAME")
            sql = self.parser.sql_of(node)
            found.append(Named(name, sql, self.parser.types_of("group_by", "records", [sql])[0]))
        self._refuse_names("group_by", [one.name for one in found])
        self._fold_table("group_by", found)
        self.groups = found

    def read_outputs(self) -> None:
        found = []
        names = {one.name.lower() for one in self.groups}
        for number, node in enumerate(self.parser.expressions("select", self.text.select, self._names)):
            if node["class"] == "COLUMN_REF" and node["column_names"][-1].lower() in names and not node["alias"]:
                continue  # a group column, which is answered anyhow
            name = node["alias"] or _natural_name(node) or f"column{number}"
            found.append((name, self.parser.sql_of(self._without_aggregates("select", node))))
        if not self.calls:
            raise Refused("select", "no aggregate", "write, for example, count(*) as records")
        self._refuse_names("select", [*names, *(name for name, _ in found)])
        self._fold_table("select", self.groups)
        kinds = self._types_of_folded("select", [sql for _, sql in found])
        self.outputs = [Named(name, sql, kind) for (name, sql), kind in zip(found, kinds, strict=True)]

    def read_rest(self) -> None:
        """Read `having` and `order_by`, which speak of groups and outputs by name and may name aggregates as well."""
        if not self.outputs:
            return
        if self.text.having:
            node = self._condition("having", self.text.having)
            self.having = self.parser.sql_of(self._without_aggregates("having", node))
        if self.text.order_by:
            self.order_by = self._order()
        self._fold_table("select", [*self.groups, *self.outputs])
        if self.having and self._types_of_folded("having", [self.having]) != ["BOOLEAN"]:
            raise Refused("having", "not a condition", "write a comparison")
        if self.order_by:
            self.parser.types_of("order_by", "folded", ["1"], f"ORDER BY {self.order_by}")

    def _order(self) -> str:
        parts = []
        for order in self.parser.orders("order_by", self.text.order_by, self._names):
            sql = self.parser.sql_of(self._without_aggregates("order_by", order["expression"]))
            direction = "DESC" if order["type"] == "DESCENDING" else "ASC"
            nulls = "NULLS FIRST" if "FIRST" in order["null_order"] else "NULLS LAST"
            parts.append(f"{sql} {direction} {nulls}")
        return ", ".join(parts)

    @property
    def _names(self) -> list[str]:
        return [one.name for one in (*self.groups, *self.outputs)]

    def _condition(self, key: str, text: str) -> Node:
        """Parse the text both ways: "1) OR (1" fails alone, "a AS b" in parentheses."""
        self._one(key, text, self._names)
        return self._one(key, f"({text}\n)", self._names)

    def _one(self, key: str, text: str, named: Iterable[str] = ()) -> Node:
        expressions = self.parser.expressions(key, text, named)
        if len(expressions) != 1:
            raise Refused(key, f"{text} is not one expression", "give one")
        return expressions[0]

    def _without_aggregates(self, key: str, node: Any) -> Any:
        """The tree with a column in place of each aggregate; the calls are collected, equal ones once."""
        if isinstance(node, list):
            return [self._without_aggregates(key, one) for one in node]
        if not isinstance(node, dict):
            return node
        if not self.parser.is_aggregate(node):
            return {name: self._without_aggregates(key, value) for name, value in node.items()}
        call = self._call(key, node)
        if call not in self.calls:
            self.calls.append(call)
        reference = {"class": "COLUMN_REF", "type": "COLUMN_REF", "query_location": 0}
        return {**reference, "alias": node["alias"], "column_names": [call_name(self.calls.index(call))]}

    def _call(self, key: str, node: Node) -> Call:
        name = SYNONYMS.get(node["function_name"].lower(), node["function_name"].lower())
        inside = [one["expression"] for one in node["arguments"]]
        if name == "count" and not inside:
            name = "count_rows"
        if any(self.parser.is_aggregate(one) for one in syntax_nodes(inside)):
            raise Refused(key, f"{name} of an aggregate", "aggregates do not nest")
        if node["distinct"]:
            raise Refused(
                key,
                f"{name}(distinct ...)",
                "write count_distinct(x, 10000): a limit keeps it small; or approx_count_distinct(x)",
            )
        if node["order_bys"]["orders"]:
            raise Refused(key, f"an order inside {name}", "first and last go by the query's time; else use arg_max")
        arguments, constants = self._arguments(key, name, inside)
        if node["filter"]:
            arguments = [f"CASE WHEN {self.parser.sql_of(node['filter'])} THEN {one} END" for one in arguments or ["1"]]
            name = "count" if name == "count_rows" else name
        kinds = self.parser.types_of(key, "records", arguments)
        call = Call(name, tuple(arguments), tuple(kinds), *constants)
        self._refuse_unknown(key, call)
        return call

    def _arguments(self, key: str, name: str, inside: list[Node]) -> tuple[list[str], tuple[int | None, float | None]]:
        """An aggregate's arguments as SQL, and its limit or fraction where it takes one as last argument."""
        said = [self.parser.sql_of(one) for one in inside]
        maker = MAKERS.get(name)
        if maker is None or len(said) < 2:
            return said, (None, None)
        *before, last = said
        if maker.limited:
            if not last.isdigit():
                raise Refused(key, f"{name} with the limit {last}", f"give a whole number: {name}(x, 1000)")
            return before, (int(last), None)
        if maker.fractional:
            if not _NUMBER.fullmatch(last):
                raise Refused(key, f"{name} with the fraction {last}", f"give a number: {name}(x, 0.99)")
            return before, (None, float(last))
        return said, (None, None)

    def _refuse_unknown(self, key: str, call: Call) -> None:
        argument = argument_of(call.types[0]) if call.types else Argument()
        try:
            known = aggregate(call.aggregate, argument, call.limit, call.fraction, self.parser.sketches)
        except InvalidInput as error:
            raise Refused(key, error.message, error.remedy) from error
        taken = [one for one in known.inputs if one != "at"]
        if len(taken) != len(call.arguments):
            count = len(call.arguments)
            raise Refused(key, f"{call.aggregate} with {count} arguments", f"it takes {len(taken)}")

    def _refuse_names(self, key: str, names: list[str]) -> None:
        folded = [name.lower() for name in names]
        if twice := sorted({name for name in folded if folded.count(name) > 1}):
            raise Refused(key, f"two columns named {twice[0]}", "give each a name of its own with AS")
        if taken := [name for name in folded if name in (*TOLD_FIRST, *TOLD_LAST) or _CALL.fullmatch(name)]:
            raise Refused(key, f"a column named {taken[0]}, as every answer has one", "give it another name with AS")

    def _fold_table(self, key: str, named: Iterable[Named]) -> None:
        """The empty table on which types of what stands outside of aggregates are asked."""
        columns = [(one.name, one.sql_type) for one in named]
        columns += [(call_name(number), answer_type(call)) for number, call in enumerate(self.calls)]
        listed = ", ".join(f"{quote_identifier(name)} {kind}" for name, kind in columns)
        try:
            self.parser.connection.execute(f"CREATE OR REPLACE TABLE folded ({listed or 'nothing BOOLEAN'})")
        except duckdb.Error as error:
            kinds = ", ".join(kind for _, kind in columns)
            raise Refused(key, f"no column can be of every type here: {kinds}", "cast to a type of columns") from error

    def _types_of_folded(self, key: str, expressions: list[str]) -> list[str]:
        try:
            return self.parser.types_of(key, "folded", expressions)
        except Refused as refused:
            known = ", ".join(one.name for one in (*self.groups, *self.outputs)) or "none"
            remedy = f"outside aggregates, use what group_by names: {known}"
            raise Refused(key, refused.wrong, remedy) from refused


def _natural_name(node: Node) -> str:
    """A name for an aggregate that was given none: sum(bytes) is sum_bytes, count(*) is count."""
    if node["class"] != "FUNCTION" or node["is_operator"]:
        return ""
    parts = [node["function_name"].removesuffix("_star")]
    parts += [one["expression"]["column_names"][-1] for one in node["arguments"] if _is_column(one["expression"])]
    return _WORDS.sub("_", "_".join(parts)).strip("_").lower()


def _is_column(node: Node) -> bool:
    return bool(node["class"] == "COLUMN_REF")
