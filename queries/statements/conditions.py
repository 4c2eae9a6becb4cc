"""Conditions over the columns of a row, as values: a rewrite asks which columns they name, an engine if they hold."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tidewheel.indexing.errors import InvalidInput

COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Comparison:
    """Compares a column with a constant, or with another column where `with_column` is true.

    >>> Comparison("L1.protocol", "=", "ftp").holds({"L1.protocol": "ftp"})
    True
    """

    column: str
    sign: str
    value: Any
    with_column: bool = False

    def __post_init__(self) -> None:
        if self.sign not in COMPARE:
            raise InvalidInput(f"'{self.sign}' compares nothing", f"write one of {' '.join(COMPARE)}")

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column, self.value) if self.with_column else (self.column,)

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Return if the row fulfils the condition; NULL fulfils none."""
        left, right = row[self.column], row[self.value] if self.with_column else self.value
        return left is not None and right is not None and bool(COMPARE[self.sign](left, right))

    def renamed(self, names: Mapping[str, str]) -> Comparison:
        """Return the same condition over other names of its columns."""
        value = names.get(self.value, self.value) if self.with_column else self.value
        return Comparison(names.get(self.column, self.column), self.sign, value, self.with_column)

    def __str__(self) -> str:
        value = self.value if self.with_column or not isinstance(self.value, str) else f"'{self.value}'"
        return f"{self.column} {self.sign} {value}"


def columns_of(conditions: tuple[Comparison, ...]) -> frozenset[str]:
    """Return all columns that the conditions name."""
    return frozenset(column for condition in conditions for column in condition.columns)
