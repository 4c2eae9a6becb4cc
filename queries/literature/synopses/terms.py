"""Predicates that are terms joined by OR: which terms no record satisfies together, and which sets of them cover which.

A term is `attribute op constant` with one of = != < >. NULL satisfies none. Terms of different attributes may always
hold together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tidewheel.indexing.errors import InvalidInput

OPERATORS = ("=", "!=", "<", ">")


@dataclass(frozen=True)
class Term:
    """`is_whole`: the attribute holds whole numbers, between which nothing lies."""

    attribute: str
    operator: str
    constant: Any
    is_whole: bool = False

    def __post_init__(self) -> None:
        if self.operator not in (*OPERATORS, "opaque"):
            raise InvalidInput(f"a term with {self.operator}", f"only {' '.join(OPERATORS)} can be shared in parts")

    def holds(self, value: Any) -> bool:
        if value is None or self.operator == "opaque":
            return False
        if self.operator in ("=", "!="):
            return bool((value == self.constant) is (self.operator == "="))
        return bool(value < self.constant if self.operator == "<" else value > self.constant)

    def is_disjoint(self, other: Term) -> bool:
        """Tell whether no record satisfies both terms.

        >>> [Term("x", "<", 5, whole).is_disjoint(Term("x", ">", 4, whole)) for whole in (True, False)]
        [True, False]
        """
        if self.attribute != other.attribute or "opaque" in (self.operator, other.operator):
            return False
        if self.operator == "=":
            return not other.holds(self.constant)
        if other.operator == "=":
            return not self.holds(other.constant)
        if {self.operator, other.operator} != {"<", ">"}:
            return False
        below, above = (self, other) if self.operator == "<" else (other, self)
        gap = below.constant - above.constant
        return bool(gap <= (1 if self.is_whole and other.is_whole else 0))


Predicate = frozenset[Term]
EVERYTHING: Predicate = frozenset({Term("", "opaque", True)})


def are_disjoint(one: Iterable[Term], other: Iterable[Term]) -> bool:
    second = list(other)
    return all(term.is_disjoint(another) for term in one for another in second)
