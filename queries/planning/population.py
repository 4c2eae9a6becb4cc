"""How many partial rows records make: who satisfies which predicates, and how many groups there are.

Partials are kept by signature (which predicates hold) and group, so a fragment has as many rows as it has different
pairs of both. A query reads those with its predicate's bit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import expm1, prod
from typing import Any, Protocol

from tidewheel.queries.planning.phases import Phases, period_of
from tidewheel.queries.signatures import EVERY_ROW


@dataclass(frozen=True)
class Detail:
    """The predicates and groups by which a tree keeps its partials."""

    predicates: frozenset[str]
    groups: frozenset[str]

    def joined(self, other: Detail) -> Detail:
        if self == other:
            return self
        return Detail(self.predicates | other.predicates, self.groups | other.groups)


class Population(Protocol):
    def share(self, predicates: frozenset[str]) -> Fraction | float:
        """Return the share of records that satisfy at least one of the predicates."""

    def entries(self, kept: Detail, asked: str | None, fragments: Fragments) -> Fraction | float:
        """Partial rows per fragment, that a query of this predicate reads; of all predicates for None."""


@dataclass(frozen=True)
class Fragments:
    """The fragments of a tree: where they lie, for who looks at records, and how many records one has on average."""

    phases: Phases
    records: Fraction  # of the stream per fragment, whether they satisfy anything or not


@dataclass(frozen=True)
class SampleRow:
    at: int
    holds: frozenset[str]
    groups: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Sample:
    """Exact, from records of [0, length): what the published examples are computed by."""

    rows: Collection[SampleRow]
    length: int

    def share(self, predicates: frozenset[str]) -> Fraction:
        if EVERY_ROW in predicates:
            return Fraction(1)
        return Fraction(sum(bool(row.holds & predicates) for row in self.rows), len(self.rows))

    def entries(self, kept: Detail, asked: str | None, fragments: Fragments) -> Fraction:
        period = period_of(fragments.phases)
        edges = sorted({edge for slide, shift in fragments.phases for edge in range(shift, self.length, slide)})
        found = set()
        for row in self.rows:
            signature = frozenset(kept.predicates & (row.holds | {EVERY_ROW}))
            if signature and (asked is None or asked in signature):
                number = sum(edge <= row.at for edge in edges)
                found.add((number, signature, tuple(row.groups[column] for column in sorted(kept.groups))))
        assert self.length % period == 0
        return Fraction(len(found), len(edges))


@dataclass(frozen=True)
class Estimate:
    """From a few figures: the share of records that satisfy a predicate, the distinct values of a column.

    Predicates and columns are taken as independent: of groups there are as many as the product says, at
    most `groups_max`, and a fragment of N records has G × (1 - e^(-N / G)) of G groups.
    """

    shares: Mapping[str, float] = field(default_factory=dict)
    distinct: Mapping[str, int] = field(default_factory=dict)
    groups_max: float = 1e9
    _known: dict[Any, float] = field(default_factory=dict, compare=False, repr=False)

    def share(self, predicates: frozenset[str]) -> float:
        return 1.0 - prod(1.0 - self.share_of(predicate) for predicate in sorted(predicates))

    def share_of(self, predicate: str) -> float:
        return 1.0 if predicate == EVERY_ROW else self.shares.get(predicate, 0.5)

    def groups(self, columns: frozenset[str]) -> float:
        return min(self.groups_max, prod(float(self.distinct.get(column, 1)) for column in sorted(columns)))

    def entries(self, kept: Detail, asked: str | None, fragments: Fragments) -> float:
        key = (kept, asked, fragments.records)
        if key not in self._known:
            groups, records = self.groups(kept.groups), float(fragments.records)
            self._known[key] = sum(
                -groups * expm1(-records * likely / groups) for likely in self._signatures(kept, asked)
            )
        return self._known[key]

    def cells(self, kept: Detail) -> float:
        """How many partial rows a fragment has at the most."""
        return self.groups(kept.groups) * len(self._signatures(kept, None))

    def _signatures(self, kept: Detail, asked: str | None) -> list[float]:
        """How likely each signature is that the asked query reads."""
        narrowing = sorted(kept.predicates - {EVERY_ROW})
        likely = []
        for bits in product((True, False), repeat=len(narrowing)):
            holding = {predicate for predicate, bit in zip(narrowing, bits, strict=True) if bit}
            counts = bool(holding) or EVERY_ROW in kept.predicates
            if counts and (asked in (None, EVERY_ROW) or asked in holding):
                shares = [self.share_of(predicate) for predicate in narrowing]
                likely.append(prod(share if bit else 1 - share for share, bit in zip(shares, bits, strict=True)))
        return likely
