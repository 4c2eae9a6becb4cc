"""Operators that look at several rows: unions, joins, δ, negations and groups."""

from __future__ import annotations

from dataclasses import dataclass

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.statements.operators import (
    Binary,
    Pairs,
    Unary,
    check_columns,
    check_names,
    check_pairs,
    pairs_text,
)


@dataclass(frozen=True)
class Union(Binary):
    """The order-preserving union of all rows; its columns have the left input's names."""

    def __post_init__(self) -> None:
        if len(self.left.columns) != len(self.right.columns):
            raise InvalidInput(
                f"a union of {len(self.left.columns)} and {len(self.right.columns)} columns",
                "project both inputs to as many columns",
            )

    @property
    def columns(self) -> tuple[str, ...]:
        return self.left.columns

    @property
    def renames(self) -> dict[str, str]:
        """The union's names of columns, as the right input calls them."""
        return dict(zip(self.left.columns, self.right.columns, strict=True))

    @property
    def title(self) -> str:
        return "∪"


@dataclass(frozen=True)
class Join(Binary):
    """An inner join by equal columns."""

    on: Pairs

    def __post_init__(self) -> None:
        check_pairs(self, self.left, self.right.columns, self.on)
        check_names(self)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.left.columns + self.right.columns

    @property
    def title(self) -> str:
        return f"⋈ {pairs_text(self.on)}"


@dataclass(frozen=True)
class Distinct(Unary):
    """δ: each value of `values` once. `counters` is the implementation by multiplicities, which sends negatives."""

    values: tuple[str, ...]
    counters: bool = False

    def __post_init__(self) -> None:
        check_columns(self, self.values)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.values

    @property
    def title(self) -> str:
        return f"δ {', '.join(self.values)}" + (" by counters" if self.counters else "")


@dataclass(frozen=True)
class Negation(Binary):
    """The left rows without a match (NOT EXISTS), or, where `bag`, less as many of a value (EXCEPT ALL)."""

    on: Pairs
    bag: bool = False

    def __post_init__(self) -> None:
        check_pairs(self, self.left, self.right.columns, self.on)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.left.columns

    @property
    def title(self) -> str:
        return f"{'− EXCEPT ALL' if self.bag else '▷ NOT EXISTS'} {pairs_text(self.on)}"


FOLDS = ("count", "sum", "min", "max", "avg")


@dataclass(frozen=True)
class Fold:
    """An aggregate of a group's rows: count, sum, min, max or avg of a column (count takes none)."""

    function: str
    column: str = ""

    def __post_init__(self) -> None:
        if self.function not in FOLDS or bool(self.column) is (self.function == "count"):
            raise InvalidInput(f"no aggregate {self}", "write count, or sum, min, max or avg with a column")

    def __str__(self) -> str:
        return f"{self.function}({self.column})"


@dataclass(frozen=True)
class GroupBy(Unary):
    """One row a group, replaced when its value changes."""

    by: tuple[str, ...]
    folds: tuple[Fold, ...]

    def __post_init__(self) -> None:
        check_columns(self, (*self.by, *(fold.column for fold in self.folds if fold.column)))

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.by, *map(str, self.folds))

    @property
    def title(self) -> str:
        return f"group by {', '.join(self.by) or '()'}: {', '.join(map(str, self.folds))}"
