"""The condition of a probe on the key, twice: SQL for the records, and a test of a file's minimum and maximum.

Keys are tuples ordered column by column, and a condition may name only the first columns. A range is half-open,
like all intervals here: [low, high), with no bound where an end is missing.

    key (tenant, device)      probe(("a", 5))              tenant = a AND device = 5
                              probe("a")                   every device of tenant a
                              range(("a", 5), ("a", 9))    tenant = a, devices 5 to 8
                              range("a", "c")              all of the tenants from a up to, but not including, c
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tidewheel.indexing.core.state import Bound
from tidewheel.sql.engine.quoting import Sql, join

Values = tuple[Any, ...]
Ends = tuple[Any, Any]


@dataclass(frozen=True)
class KeyColumn:
    """A key column as SQL: its quoted name and its type."""

    name: Sql
    type: Sql


@dataclass(frozen=True)
class KeyEquals:
    """The first key columns have exactly these values."""

    values: Values

    def excludes(self, minima: Sequence[Bound], maxima: Sequence[Bound]) -> bool:
        """Tell whether no record between these bounds can match."""
        for value, low, high in zip(self.values, minima, maxima, strict=False):
            if (low is not None and value < low) or (high is not None and value > high):
                return True
        return False

    @property
    def first(self) -> Ends:
        """From where to where, both included, the first key column is asked for; None is no bound."""
        return self.values[0], self.values[0]

    def predicate(self, columns: Sequence[KeyColumn]) -> Sql:
        terms = (
            Sql(f"{column.name} = {_parameter('low', i, column)}")
            for i, column in enumerate(columns[: len(self.values)])
        )
        return join(" AND ", terms)

    @property
    def parameters(self) -> dict[str, Any]:
        return _parameters("low", self.values)


@dataclass(frozen=True)
class KeyBetween:
    """The key is at least `low` and less than `high`; an empty tuple is no bound."""

    low: Values
    high: Values

    def excludes(self, minima: Sequence[Bound], maxima: Sequence[Bound]) -> bool:
        """Tell whether no record between these bounds can match."""
        for i, (minimum, maximum) in enumerate(zip(minima, maxima, strict=True)):
            if i < len(self.low) and maximum is not None and maximum < self.low[i]:
                return True
            if i < len(self.high) and minimum is not None:
                last = i + 1 == len(self.high)
                if minimum > self.high[i] or (last and minimum == self.high[i]):
                    return True
            # The next column is bound only where both ends agree on this one.
            if self.low[i : i + 1] != self.high[i : i + 1] or not self.low[i : i + 1]:
                return False
        return False

    @property
    def first(self) -> Ends:
        """From where to where, both included, the first key column is asked for; None is no bound."""
        return next(iter(self.low), None), next(iter(self.high), None)

    def predicate(self, columns: Sequence[KeyColumn]) -> Sql:
        terms = []
        if self.low:
            terms.append(_from_low(columns[: len(self.low)], 0))
        if self.high:
            terms.append(_below_high(columns[: len(self.high)], 0))
        return join(" AND ", terms) if terms else Sql("true")

    @property
    def parameters(self) -> dict[str, Any]:
        return _parameters("low", self.low) | _parameters("high", self.high)


@dataclass(frozen=True)
class AnyKey:
    """No condition on the key."""

    def excludes(self, minima: Sequence[Bound], maxima: Sequence[Bound]) -> bool:
        return False

    @property
    def first(self) -> Ends:
        """From where to where the first key column is asked for."""
        return None, None

    def predicate(self, columns: Sequence[KeyColumn]) -> Sql:
        return Sql("true")

    @property
    def parameters(self) -> dict[str, Any]:
        return {}


KeyCondition = KeyEquals | KeyBetween | AnyKey


def _from_low(columns: Sequence[KeyColumn], i: int) -> Sql:
    """(c0, c1, …) >= (low0, low1, …), such that the first column alone still prunes row groups."""
    name, value = columns[i].name, _parameter("low", i, columns[i])
    if i + 1 == len(columns):
        return Sql(f"{name} >= {value}")
    return Sql(f"{name} >= {value} AND ({name} > {value} OR ({_from_low(columns, i + 1)}))")


def _below_high(columns: Sequence[KeyColumn], i: int) -> Sql:
    name, value = columns[i].name, _parameter("high", i, columns[i])
    if i + 1 == len(columns):
        return Sql(f"{name} < {value}")
    return Sql(f"{name} <= {value} AND ({name} < {value} OR ({_below_high(columns, i + 1)}))")


def _parameter(bound: str, i: int, column: KeyColumn) -> Sql:
    # With its type: a wider type than the column's would keep DuckDB from using the statistics.
    return Sql(f"CAST(${bound}_{i} AS {column.type})")


def _parameters(bound: str, values: Values) -> dict[str, Any]:
    return {f"{bound}_{i}": value for i, value in enumerate(values)}
