"""An operation as a value: how inputs become accumulators, how accumulators are combined, and what is true of that.

1. `lift` makes an accumulator of one input, or None if the input is skipped (NULL, NaN).
2. `combine(older, newer)` is associative; it is never called with None, which stands for "nothing yet" and is the
   identity of operations that have none of their own.
3. `lower` makes a value of an accumulator; of None it is None.
4. `evict_oldest(total, oldest)` takes the *older* operand away: evict_oldest(combine(x, y), x) == y. A sliding
   window loses its oldest part, so this is the inverse that counts, also where combine is not commutative.

Three classes follow, and they alone decide which technique is right: INV has `evict_oldest`; SEL always returns one
of its two operands; GEN is only associative. (Not invertible does not mean SEL: gcd, unions and lists are neither.)

What people ask for is an `Aggregate`: one or more operations and a function of their accumulators. avg is sum and
count; so it shares its accumulators with a plain sum, and plans are made per operation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any

from tidewheel.indexing.errors import InvalidInput


class AlgebraClass(StrEnum):
    INV = "INV"
    SEL = "SEL"
    GEN = "GEN"


@dataclass(frozen=True)
class Column:
    """A column of the accumulator in a table. `sql_type` T0, T1, ... is the type of that input."""

    name: str
    sql_type: str


def _itself(accumulator: Any) -> Any:
    return accumulator


def _one_column(accumulator: Any) -> tuple[Any, ...]:
    return (accumulator,)


def _only_value(values: Sequence[Any]) -> Any:
    return values[0]


@dataclass(frozen=True)
class Operation:
    """See the head of this file. `store` and `load` are the accumulator as values of `columns`, and back."""

    name: str
    lift: Callable[..., Any]
    combine: Callable[[Any, Any], Any]
    columns: tuple[Column, ...]
    lower: Callable[[Any], Any] = _itself
    identity: Any = None
    evict_oldest: Callable[[Any, Any], Any] | None = None
    commutative: bool = True
    selection: bool = False  # combine always returns one of its operands
    idempotent: bool = False  # combine(x, x) == x, so overlapping parts do no harm
    store: Callable[[Any], tuple[Any, ...]] = _one_column
    load: Callable[[Sequence[Any]], Any] = _only_value

    def __post_init__(self) -> None:
        if self.evict_oldest and self.identity is None:
            raise InvalidInput(f"operation '{self.name}' has an inverse but no identity", "give it an identity")

    @property
    def algebra_class(self) -> AlgebraClass:
        if self.evict_oldest:
            return AlgebraClass.INV
        return AlgebraClass.SEL if self.selection else AlgebraClass.GEN

    def fold(self, accumulators: Iterable[Any]) -> Any:
        """All accumulators, oldest first, in one; the identity (or None) of none at all."""
        total = self.identity
        for accumulator in accumulators:
            total = self.join(total, accumulator)
        return total

    def join(self, older: Any, newer: Any) -> Any:
        """`combine`, where either side may be nothing."""
        if older is None:
            return newer
        return older if newer is None else self.combine(older, newer)


@dataclass(frozen=True)
class Error:
    """The bound of an approximate answer: the largest error, as a share of what, and how often the bound holds."""

    share: float
    of: str
    confidence: float = 1.0

    def __str__(self) -> str:
        how_often = ", always" if self.confidence == 1 else f" at {100 * self.confidence:.0f} %"
        return f"±{100 * self.share:.1f} % of {self.of}{how_often}"

    def to_json(self) -> dict[str, Any]:
        return {"share": self.share, "of": self.of, "confidence": self.confidence}


@dataclass(frozen=True)
class Aggregate:
    """A function that a query can name. `inputs` says what each operation's `lift` takes, in order: value, by, at."""

    name: str
    operations: tuple[Operation, ...]
    finish: Callable[..., Any]  # of one accumulator per operation
    inputs: tuple[str, ...] = ("value",)
    error: Error | None = None  # of approximate ones

    def answer(self, accumulators: Iterable[Any]) -> Any:
        return self.finish(*accumulators)


def alone(operation: Operation, inputs: tuple[str, ...] = ("value",), name: str = "") -> Aggregate:
    """The aggregate that is one operation; nothing is NULL."""

    def finish(accumulator: Any) -> Any:
        return None if accumulator is None else operation.lower(accumulator)

    return Aggregate(name or operation.name, (operation,), finish, inputs)


def is_missing(value: Any) -> bool:
    """NULL and NaN: skipped by every operation, and counted by comparing `count` with `count_rows`."""
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or (isinstance(value, Decimal) and value.is_nan())
