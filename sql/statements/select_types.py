"""The types of a standing query's calls: what DuckDB calls the argument's type, and what an aggregate then answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from tidewheel.queries.aggregates import Argument, ArgumentKind
from tidewheel.queries.standing.query import Call

_KINDS = (
    (re.compile(r"(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER)"), ArgumentKind.WHOLE),
    (re.compile(r"DECIMAL\(\d+,(\d+)\)"), ArgumentKind.DECIMAL),
    (re.compile(r"FLOAT|DOUBLE"), ArgumentKind.FLOAT),
    (re.compile(r"BOOLEAN"), ArgumentKind.BOOLEAN),
)
# What an aggregate answers, where it is not the type of its argument.
_ANSWERS: Mapping[str, str] = {
    **dict.fromkeys(("count_rows", "count", "count_distinct", "approx_count_distinct"), "BIGINT"),
    **dict.fromkeys(("avg", "variance", "var_samp", "var_pop", "stddev", "stddev_samp", "stddev_pop"), "DOUBLE"),
    **dict.fromkeys(("geometric_mean", "approx_quantile", "kll_quantile"), "DOUBLE"),
}
_LISTS = ("first_n", "last_n", "concatenate", "collect_distinct")
_SUMS = ("sum", "sum_of_squares", "product")


def argument_of(sql_type: str) -> Argument:
    """Return the catalogue's argument for a type of DuckDB's."""
    for pattern, kind in _KINDS:
        if match := pattern.fullmatch(sql_type):
            return Argument(kind, int(match[1]) if kind is ArgumentKind.DECIMAL else 0)
    return Argument(ArgumentKind.NESTED if is_nested(sql_type) else ArgumentKind.OTHER)


def is_nested(sql_type: str) -> bool:
    """Tell whether values of a type are made of other values."""
    return sql_type.startswith(("STRUCT(", "MAP(", "UNION(")) or sql_type.endswith("]")


@lru_cache(maxsize=10_000)
def answer_type(call: Call) -> str:
    """The SQL type of what a call answers."""
    if call.aggregate in _ANSWERS:
        return _ANSWERS[call.aggregate]
    argument = argument_of(call.types[0])
    if call.aggregate in _LISTS:
        return f"{call.types[0]}[]"
    if call.aggregate in _SUMS:
        if argument.kind is ArgumentKind.FLOAT or (
            call.aggregate == "product" and argument.kind is not ArgumentKind.WHOLE
        ):
            return "DOUBLE"
        return f"DECIMAL(38,{argument.scale * (2 if call.aggregate == 'sum_of_squares' else 1)})"
    return call.types[0]
