"""An operator at work takes records and negative tuples, finds what has ended, and gives what follows.

An edge says in one of three ways that a record ends (section 3.5):

- EXP: the record brings its end, and whoever stores it looks (the direct approach).
- EARLY: the same, and a negative tuple tells of each that ends before its exp (update-pattern aware).
- NEGATIVE: a negative tuple tells of each end; nobody looks at exp (the negative tuple approach).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Any

from tidewheel.queries.literature.state.records import Record
from tidewheel.queries.literature.state.store import Store

Values = Callable[[Record], tuple[Any, ...]]


class Edge(Enum):
    EXP = auto()
    EARLY = auto()
    NEGATIVE = auto()


class Working(ABC):
    """An operator of a running plan. `side` is 0 for its left or only input, 1 for its right one.

    `results` is where it stores its own results, if it does: a view of them needs no other store.
    """

    results: Store | None = None

    @abstractmethod
    def add(self, side: int, record: Record, now: int) -> list[Record]: ...

    @abstractmethod
    def remove(self, side: int, record: Record, now: int) -> list[Record]: ...

    def begin(self) -> list[Record]:
        """Give the results that are there before any record comes."""
        return []

    def expire(self, now: int) -> list[Record]:
        """Find what has ended by its exp, and give what follows from that."""
        return []

    @property
    def size(self) -> int:
        """How many records its state holds."""
        return 0


def ends_told(edge: Edge, ended: list[Record], *, natural: bool) -> list[Record]:
    """Return the negative tuples that an edge needs for results that have ended."""
    if edge is Edge.NEGATIVE or (edge is Edge.EARLY and not natural):
        return [record.negative() for record in ended]
    return []


def columns_of(columns: Sequence[str], names: Sequence[str]) -> Values:
    """Return the function that takes these columns out of a record.

    >>> columns_of(["A.k", "A.v"], ["A.v"])(Record((0, 1), ("x", 7), 1))
    (7,)
    """
    places = [columns.index(name) for name in names]
    if len(places) == 1:
        place = places[0]
        return lambda record: (record.values[place],)
    return lambda record: tuple(record.values[place] for place in places)
