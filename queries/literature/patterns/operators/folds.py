"""Aggregates from which any record can be taken away again, whatever ends first (section 2.2.2).

COUNT, SUM and AVG are distributive or algebraic and subtract: one number or two. MIN and MAX do not subtract and keep
a counter of values, whose order is read again when the extreme one leaves. COUNT DISTINCT and QUANTILE, which are
holistic, would take the same counter. NULL is passed by; nothing at all folds to NULL, and COUNT to 0.

Follows the definitions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any


class Folded(ABC):
    @abstractmethod
    def change(self, value: Any, by: int) -> None:
        """Take a value in (+1) or away (-1)."""

    @property
    @abstractmethod
    def value(self) -> Any: ...


class Count(Folded):
    def __init__(self) -> None:
        self._rows = 0

    def change(self, value: Any, by: int) -> None:
        self._rows += by

    @property
    def value(self) -> int:
        return self._rows


class Sum(Folded):
    def __init__(self) -> None:
        self._rows, self._total = 0, 0

    def change(self, value: Any, by: int) -> None:
        if value is not None:
            self._rows += by
            self._total = self._total + by * value if self._rows else 0

    @property
    def value(self) -> Any:
        return self._total if self._rows else None


class Average(Sum):
    @property
    def value(self) -> Any:
        return self._total / self._rows if self._rows else None


class Extreme(Folded):
    """
    >>> largest = Extreme(max)
    >>> for value, by in ((75, 1), (73, 1), (75, -1)):
    ...     largest.change(value, by)
    >>> largest.value
    73
    """

    def __init__(self, choose: Callable[[Iterable[Any]], Any]) -> None:
        self._choose = choose
        self._counts: Counter[Any] = Counter()
        self._value: Any = None

    def change(self, value: Any, by: int) -> None:
        if value is None:
            return
        self._counts[value] += by
        if not self._counts[value]:
            del self._counts[value]
        if by > 0:
            self._value = value if self._value is None else self._choose((self._value, value))
        elif value == self._value:
            self._value = self._choose(self._counts) if self._counts else None

    @property
    def value(self) -> Any:
        return self._value


FOLDS: dict[str, Callable[[], Folded]] = {
    "count": Count,
    "sum": Sum,
    "avg": Average,
    "min": lambda: Extreme(min),
    "max": lambda: Extreme(max),
}
