"""All that comes to a statement: the tuples of its streams and the updates of its relations, by time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Values = tuple[Any, ...]


@dataclass(frozen=True)
class Arrival:
    """A tuple of a stream. Arrivals of one tick come in the order in which they are written."""

    stream: str
    ts: int
    values: Values


@dataclass(frozen=True)
class Update:
    """A row that comes to a relation at a time, or leaves it."""

    relation: str
    at: int
    values: Values
    leaves: bool = False


@dataclass(frozen=True)
class History:
    """All arrivals and updates, in the order of time."""

    arrivals: tuple[Arrival, ...] = ()
    updates: tuple[Update, ...] = ()

    @property
    def end(self) -> int:
        return max((one.ts for one in self.arrivals), default=0)


def history(streams: Mapping[str, Iterable[tuple[int, Values]]], updates: Iterable[Update] = ()) -> History:
    """Return a history of streams, each as its tuples by time.

    >>> history({"A": [(1, ("x",))]}).arrivals
    (Arrival(stream='A', ts=1, values=('x',)),)
    """
    arrivals = [Arrival(name, ts, values) for name, tuples in streams.items() for ts, values in tuples]
    return History(tuple(sorted(arrivals, key=lambda one: one.ts)), tuple(sorted(updates, key=lambda one: one.at)))
