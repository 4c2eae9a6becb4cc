"""A plan as a frozen value: operators over streams, windows and relations, each with its inputs and its columns.

Equal plans are equal values, so a search may keep them in a set. A column is named ALIAS.FIELD everywhere; who
reads a stream twice gives it two aliases. Nothing here knows how an operator is carried out: labels, legality and
rewrites are functions over these values, and so are the engines.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.statements.conditions import Comparison, columns_of

Pairs = tuple[tuple[str, str], ...]  # (column of the left input, column of the right one)


class Operator(ABC):
    """A node of a plan. `title` is how people are told of it."""

    @property
    @abstractmethod
    def inputs(self) -> tuple[Operator, ...]: ...

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]: ...

    @property
    @abstractmethod
    def title(self) -> str: ...

    @abstractmethod
    def over(self, *inputs: Operator) -> Operator:
        """Return the same operator over other inputs."""


@dataclass(frozen=True)
class Stream(Operator):
    """An unbounded stream: its tuples never expire."""

    name: str
    fields: tuple[str, ...]
    alias: str = ""

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return ()

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(f"{self.alias or self.name}.{field}" for field in self.fields)

    @property
    def title(self) -> str:
        return f"stream {self.name}" + (f" as {self.alias}" if self.alias else "")

    def over(self, *inputs: Operator) -> Operator:
        return self


@dataclass(frozen=True)
class Unary(Operator, ABC):
    input: Operator

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return (self.input,)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns

    def over(self, *inputs: Operator) -> Operator:
        return replace(self, input=inputs[0])


@dataclass(frozen=True)
class Binary(Operator, ABC):
    left: Operator
    right: Operator

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return (self.left, self.right)

    def over(self, *inputs: Operator) -> Operator:
        return replace(self, left=inputs[0], right=inputs[1])


# Windows: over a stream, or over a selection or projection of one.


@dataclass(frozen=True)
class TimeWindow(Unary):
    """The tuples of the last `length` units of time: exp = ts + length. INTERNAL keeps old results."""

    length: int
    internal: bool = False
    slide: int | None = None

    def __post_init__(self) -> None:
        _over_a_stream(self)
        _positive(self.length, "a window's length")

    @property
    def title(self) -> str:
        return f"window {self.length}" + (" INTERNAL" if self.internal else "")


@dataclass(frozen=True)
class CountWindow(Unary):
    """The newest `rows` tuples, for each value of `per` where there are such columns (a partitioned window)."""

    rows: int
    per: tuple[str, ...] = ()
    slide: int | None = None

    def __post_init__(self) -> None:
        _over_a_stream(self)
        _positive(self.rows, "a count window's number of rows")
        _known(self, self.per)

    @property
    def title(self) -> str:
        return f"count window {self.rows}" + (f" per {', '.join(self.per)}" if self.per else "")


@dataclass(frozen=True)
class PredicateWindow(Unary):
    """The newest tuple of each key, while it fulfils the conditions."""

    key: tuple[str, ...]
    conditions: tuple[Comparison, ...]
    slide: int | None = None

    def __post_init__(self) -> None:
        _over_a_stream(self)
        _known(self, (*self.key, *columns_of(self.conditions)))

    @property
    def title(self) -> str:
        return f"predicate window {' and '.join(map(str, self.conditions))}"


Window = TimeWindow | CountWindow | PredicateWindow


# Operators of the relational algebra.


@dataclass(frozen=True)
class Select(Unary):
    conditions: tuple[Comparison, ...]

    def __post_init__(self) -> None:
        _known(self, columns_of(self.conditions))

    @property
    def title(self) -> str:
        return f"σ {' and '.join(map(str, self.conditions))}"


@dataclass(frozen=True)
class Project(Unary):
    """Keeps some columns and all duplicates."""

    kept: tuple[str, ...]

    def __post_init__(self) -> None:
        _known(self, self.kept)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.kept

    @property
    def title(self) -> str:
        return f"π {', '.join(self.kept)}"


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
        _pairs_known(self, self.left, self.right.columns, self.on)
        _no_name_twice(self)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.left.columns + self.right.columns

    @property
    def title(self) -> str:
        return f"⋈ {_pairs_text(self.on)}"


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
        _pairs_known(self, self.input, self.relation.columns, self.on)
        _no_name_twice(self)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns + self.relation.columns

    @property
    def title(self) -> str:
        return f"⋈{'R' if self.relation.retroactive else 'NRR'} {self.relation.name} on {_pairs_text(self.on)}"


@dataclass(frozen=True)
class Distinct(Unary):
    """δ: each value of `values` once. `counters` is the implementation by multiplicities, which sends negatives."""

    values: tuple[str, ...]
    counters: bool = False

    def __post_init__(self) -> None:
        _known(self, self.values)

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
        _pairs_known(self, self.left, self.right.columns, self.on)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.left.columns

    @property
    def title(self) -> str:
        return f"{'− EXCEPT ALL' if self.bag else '▷ NOT EXISTS'} {_pairs_text(self.on)}"


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
        _known(self, (*self.by, *(fold.column for fold in self.folds if fold.column)))

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.by, *map(str, self.folds))

    @property
    def title(self) -> str:
        return f"group by {', '.join(self.by) or '()'}: {', '.join(map(str, self.folds))}"


# What is asked of plans.


def window(name: str, length: int, *fields: str, internal: bool = False, slide: int | None = None) -> TimeWindow:
    """Return a time window over a stream.

    >>> join = Join(window("A", 6, "k"), window("B", 6, "k"), (("A.k", "B.k"),))
    >>> join.columns, join.title
    (('A.k', 'B.k'), '⋈ A.k = B.k')
    """
    return TimeWindow(Stream(name, fields), length, internal, slide)


def operators(plan: Operator) -> Iterator[Operator]:
    """Give every operator of the plan, each before its inputs."""
    yield plan
    for one in plan.inputs:
        yield from operators(one)


def windows(plan: Operator) -> list[Window]:
    """Return all windows of the plan, from left to right."""
    return [one for one in operators(plan) if isinstance(one, Window)]


def unbounded(plan: Operator) -> list[Stream]:
    """Return the streams that are read without a window."""
    if isinstance(plan, Window):
        return []
    return [plan] if isinstance(plan, Stream) else [stream for one in plan.inputs for stream in unbounded(one)]


def _over_a_stream(one: Unary) -> None:
    if any(not isinstance(below, Stream | Select | Project) for below in operators(one.input)):
        raise InvalidInput(
            f"{one.title} over a result", "a window is over a stream, or over a selection or projection of one"
        )


def _positive(number: Any, of_what: str) -> None:
    if number < 1:
        raise InvalidInput(f"{of_what} is {number}", "give at least 1")


def _known(one: Unary, columns: Iterable[str]) -> None:
    unknown = sorted(set(columns) - set(one.input.columns))
    if unknown:
        raise InvalidInput(
            f"{one.title} names {', '.join(unknown)}, which its input has not",
            f"there are {', '.join(one.input.columns)}",
        )


def _pairs_known(one: Operator, left: Operator, right: tuple[str, ...], on: Pairs) -> None:
    for ours, theirs in on:
        if ours not in left.columns or theirs not in right:
            raise InvalidInput(
                f"{one.title} compares {ours} with {theirs}, which are no columns of its inputs",
                f"left there are {', '.join(left.columns)}; right there are {', '.join(right)}",
            )


def _no_name_twice(one: Operator) -> None:
    if len(set(one.columns)) < len(one.columns):
        twice = sorted({name for name in one.columns if one.columns.count(name) > 1})
        raise InvalidInput(f"{one.title}: {', '.join(twice)} is in both inputs", "give one of the streams an alias")


def _pairs_text(on: Pairs) -> str:
    return " and ".join(f"{ours} = {theirs}" for ours, theirs in on)
