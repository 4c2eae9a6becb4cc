"""A window join as a value: its windows, the order in which they are probed, and how their state is laid out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.state.records import FOREVER, Record
from tidewheel.queries.statements.join_costs import check_order

LAYOUTS = ("fifo", "calendar", "list")


@dataclass(frozen=True)
class JoinWindow:
    """One input: a time window of a length, or a count window of so many rows. INTERNAL: its end ends no result."""

    length: float | None = None
    rows: int | None = None
    internal: bool = False

    def __post_init__(self) -> None:
        if (self.length is None) is (self.rows is None) or (self.length or self.rows or 0) <= 0:
            raise InvalidInput(f"a window of length {self.length} and {self.rows} rows", "give one of the two, above 0")


@dataclass(frozen=True)
class WindowJoin:
    """`order` names inputs by place. `buckets` is 1 for nested loops, None for a bucket of each key.

    `layout` is the structure of a bucket: a FIFO queue is right for equal lifetimes, a calendar queue for different
    ones, a list for those that nobody knows. `year` bounds the lifetimes of a calendar queue.
    """

    windows: tuple[JoinWindow, ...]
    order: tuple[int, ...] = ()
    buckets: int | None = 1
    closed: bool = False
    layout: str = ""
    days: int = 10
    year: int = 0

    def __post_init__(self) -> None:
        if len(self.windows) < 2:
            raise InvalidInput(f"a join of {len(self.windows)} streams", "name at least two")
        check_order(self.probing, len(self.windows))
        if self.state_layout not in LAYOUTS:
            raise InvalidInput(f"no state is laid out as '{self.layout}'", f"there are {', '.join(LAYOUTS)}")
        if self.is_strict and self.state_layout != "list":
            raise InvalidInput(
                f"a {self.layout} needs known ends, and a count window's are told by negative tuples", "use lists"
            )
        if self.buckets is not None and self.buckets < 1:
            raise InvalidInput(f"{self.buckets} buckets", "1 is nested loops")

    @property
    def probing(self) -> tuple[int, ...]:
        """The global order: as given, else that of the windows."""
        return self.order or tuple(range(len(self.windows)))

    @property
    def state_layout(self) -> str:
        """The layout as given, else the simplest that is right for the windows."""
        return self.layout or ("list" if self.is_strict else "fifo")

    @property
    def is_strict(self) -> bool:
        """True if some ends are told by negative tuples alone."""
        return any(window.rows is not None for window in self.windows)

    def others(self, stream: int) -> tuple[int, ...]:
        """Return whom a tuple of the stream probes, in order."""
        return tuple(other for other in self.probing if other != stream)


def time_windows(*lengths: float, **settings: Any) -> WindowJoin:
    """Return a join of time windows.

    >>> time_windows(10, 10, 5, order=(2, 0, 1)).others(2)
    (0, 1)
    """
    return WindowJoin(tuple(JoinWindow(length) for length in lengths), **settings)


class Arrival(NamedTuple):
    """A tuple of a stream. Its key is the first of its values."""

    stream: int
    record: Record


def arrival(stream: int, name: Any, ts: float, key: Any, exp: float = FOREVER) -> Arrival:
    return Arrival(stream, Record((name,), (key,), ts, exp))  # type: ignore[arg-type]  # moments may be fractions


class Result(NamedTuple):
    """One tuple of each stream, by their ids. `exp` is the first end of all parts, `out` that of the external ones.

    `restored`: it was dead when it was reported. `sign` -1 takes an earlier result back.
    """

    ids: tuple[Any, ...]
    ts: float
    exp: float
    out: float
    restored: bool = False
    sign: int = 1
