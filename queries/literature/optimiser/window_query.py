"""A conjunctive query over windows: streams and tables, the factors of its joins, its selections, and their prices.

Ayad and Naughton 2004, sections 2 and 3: everything is an average that does not change. A table is a stream of rate 0
whose window is its cardinality. Pairs of streams without a predicate have the factor 1. The source gives one price for
all joins; here a join has a method with a price each for probing, inserting and invalidating, and a probe may cost
more where its window is larger. A window of time is its rate times its length in rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.statements.join_sizes import Number

Pair = frozenset[str]


def _no_name_twice(names: list[str]) -> None:
    for one, other in combinations(sorted(names), 2):
        if one == other:
            raise InvalidInput(f"'{one}' is the name of two streams or selections", "give each a name of its own")


def _finite(told: str, value: Number) -> None:
    if not 0 <= value < math.inf:
        raise InvalidInput(f"{told} is {value}", "give a number that is at least 0")


def _share(told: str, value: Number) -> None:
    if not 0 <= value <= 1:
        raise InvalidInput(f"{told} is {value}", "give a share from 0 to 1")


@dataclass(frozen=True)
class WindowStream:
    """A stream with a window of rows or of time, or a table.

    >>> WindowStream("A", rate=10, length=2).window
    20
    """

    name: str
    rate: Number = 0
    rows: Number | None = None
    length: Number | None = None
    is_table: bool = False

    def __post_init__(self) -> None:
        _finite(f"the rate of stream '{self.name}'", self.rate)
        if self.rows is not None and self.length is not None:
            raise InvalidInput(f"stream '{self.name}' has a window of rows and one of time", "give one of them")
        for told, size in (("rows", self.rows), ("length", self.length)):
            if size is not None and not 0 < size < math.inf:
                raise InvalidInput(f"the window of stream '{self.name}' is {size} {told}", "give more than 0")
        if self.is_table and (self.rate or self.rows is None):
            raise InvalidInput(f"table '{self.name}' needs rows, and no rate", "give how many rows it has")

    @property
    def window(self) -> Number:
        """How many rows the window holds; 1 of a stream that is not joined, which has none."""
        if self.length is not None:
            return self.rate * self.length
        return 1 if self.rows is None else self.rows

    @property
    def is_bounded(self) -> bool:
        return self.rows is not None or self.length is not None


@dataclass(frozen=True)
class Selection:
    """A predicate on one stream: the share that it keeps, and its price for each tuple. A projection keeps all."""

    name: str
    stream: str
    factor: Number
    price: Number = 0

    def __post_init__(self) -> None:
        _share(f"the factor of selection '{self.name}'", self.factor)
        _finite(f"the price of selection '{self.name}'", self.price)


@dataclass(frozen=True)
class JoinMethod:
    """Prices of one side of a join: a probe of its window, an insertion into it, an invalidation.

    A probe costs `probe` + `per_row` × the window + `per_match` × the matches: nested loops have the second, hash
    tables the third.
    """

    name: str = "symmetric"
    probe: Number = 1
    insert: Number = 0
    invalidate: Number = 0
    per_row: Number = 0
    per_match: Number = 0

    def __post_init__(self) -> None:
        for price in (self.probe, self.insert, self.invalidate, self.per_row, self.per_match):
            _finite(f"a price of the method '{self.name}'", price)

    @property
    def tau(self) -> Number:
        """The constant part for each tuple that comes into a join."""
        return self.probe + self.insert + self.invalidate

    def grows(self, factor: Number) -> Number:
        """Return the part of a probe's price that is for each row of the window."""
        return self.per_row + self.per_match * factor


SYMMETRIC = JoinMethod()  # one unit of work for each tuple that comes into a join


def tau(price: Number) -> JoinMethod:
    """Return the source's one price for each tuple that comes into a join."""
    return JoinMethod(probe=price)


@dataclass(frozen=True)
class WindowQuery:
    """The streams of a query, the factors of its pairs, its selections and its join methods."""

    streams: tuple[WindowStream, ...]
    factors: Mapping[Pair, Number] = field(default_factory=dict)
    selections: tuple[Selection, ...] = ()
    methods: tuple[JoinMethod, ...] = (SYMMETRIC,)

    def __post_init__(self) -> None:
        names = [one.name for one in self.streams]
        _no_name_twice(names + [one.name for one in self.selections])
        if not self.methods:
            raise InvalidInput("the query has no join method", "give one, or leave it to the default")
        if all(one.is_table for one in self.streams):
            raise InvalidInput("every input is a table: this is no continuous query", "name at least one stream")
        self._check_predicates(names)
        if len(names) > 1:
            self._check_windows()

    def _check_predicates(self, names: Sequence[str]) -> None:
        for name in {name for pair in self.factors for name in pair} | {one.stream for one in self.selections}:
            if name not in names:
                raise InvalidInput(f"a predicate names '{name}', which is no stream", f"there are {', '.join(names)}")
        for pair, factor in self.factors.items():
            _share(f"the factor of {' and '.join(sorted(pair))}", factor)

    def _check_windows(self) -> None:
        """Refuse a join of a stream without a window, or with one that never holds a row."""
        for one in self.streams:
            if not one.is_bounded:
                raise InvalidInput(
                    f"stream '{one.name}' is joined but has no window: an unbounded join needs unbounded memory",
                    "give it a window of rows or of time",
                )
            if not one.window:
                raise InvalidInput(f"the window of stream '{one.name}' is 0 rows", "give a rate above 0")

    @cached_property
    def by_name(self) -> dict[str, WindowStream]:
        return {one.name: one for one in self.streams}

    @cached_property
    def selection_named(self) -> dict[str, Selection]:
        return {one.name: one for one in self.selections}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All streams and tables in the order of the alphabet."""
        return tuple(sorted(self.by_name))

    def factor(self, left: frozenset[str], right: frozenset[str]) -> Number:
        """Return the product of the factors between two sets of streams."""
        found: Number = 1
        for pair, factor in self.factors.items():
            if len(pair & left) == 1 == len(pair & right):
                found = found * factor
        return found


def window_query(
    streams: tuple[WindowStream, ...],
    joins: tuple[tuple[str, str, Number], ...] = (),
    selections: tuple[Selection, ...] = (),
    methods: tuple[JoinMethod, ...] = (SYMMETRIC,),
) -> WindowQuery:
    """Return a query with one factor for each pair that has a predicate.

    >>> two = (WindowStream("A", 10, rows=10), WindowStream("B", 20, rows=10))
    >>> window_query(two, (("A", "B", 0.5),)).factor(frozenset("A"), frozenset("B"))
    0.5
    """
    factors: dict[Pair, Number] = {}
    for left, right, factor in joins:
        pair = frozenset((left, right))
        if len(pair) < 2:
            raise InvalidInput(f"a join of '{left}' with itself", "give one of the two an alias: they are two streams")
        if pair in factors:
            raise InvalidInput(
                f"'{left}' and '{right}' have two predicates", "multiply their selectivities and give one"
            )
        factors[pair] = factor
    return WindowQuery(streams, factors, selections, methods)


def components(query: WindowQuery) -> list[tuple[str, ...]]:
    """Return the streams that predicates connect, each connected part by itself."""
    parts = [{name} for name in query.names]
    for pair in query.factors:
        touched = [part for part in parts if part & pair]
        parts = [part for part in parts if not part & pair] + [set().union(*touched)]
    return sorted(tuple(sorted(part)) for part in parts)
