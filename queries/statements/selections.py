"""Operators that look at one row at a time: selections and projections."""

from __future__ import annotations

from dataclasses import dataclass

from tidewheel.queries.statements.conditions import Comparison, columns_of
from tidewheel.queries.statements.operators import Unary, check_columns


@dataclass(frozen=True)
class Select(Unary):
    conditions: tuple[Comparison, ...]

    def __post_init__(self) -> None:
        check_columns(self, columns_of(self.conditions))

    @property
    def title(self) -> str:
        return f"σ {' and '.join(map(str, self.conditions))}"


@dataclass(frozen=True)
class Project(Unary):
    """Keeps some columns and all duplicates."""

    kept: tuple[str, ...]

    def __post_init__(self) -> None:
        check_columns(self, self.kept)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.kept

    @property
    def title(self) -> str:
        return f"π {', '.join(self.kept)}"
