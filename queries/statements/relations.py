"""Joins with a relation: a table that changes beside the streams."""

from __future__ import annotations

from dataclasses import dataclass

from tidewheel.queries.statements.operators import Pairs, Unary, check_names, check_pairs, pairs_text


@dataclass(frozen=True)
class Relation:
    """A table. `retroactive`: its updates change old results too; else it is an NRR. `changes` is false if never."""

    name: str
    fields: tuple[str, ...]
    retroactive: bool = False
    changes: bool = True

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(f"{self.name}.{field}" for field in self.fields)


@dataclass(frozen=True)
class RelationJoin(Unary):
    """A join of the input with a relation: ⋈R or ⋈NRR."""

    relation: Relation
    on: Pairs

    def __post_init__(self) -> None:
        check_pairs(self, self.input, self.relation.columns, self.on)
        check_names(self)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns + self.relation.columns

    @property
    def title(self) -> str:
        return f"⋈{'R' if self.relation.retroactive else 'NRR'} {self.relation.name} on {pairs_text(self.on)}"
