"""Windows: over a stream, or over a selection or projection of one."""

from __future__ import annotations

from dataclasses import dataclass

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.statements.conditions import Comparison, columns_of
from tidewheel.queries.statements.operators import Operator, Stream, Unary, check_columns, operators
from tidewheel.queries.statements.selections import Project, Select


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
        check_columns(self, self.per)

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
        check_columns(self, (*self.key, *columns_of(self.conditions)))

    @property
    def title(self) -> str:
        return f"predicate window {' and '.join(map(str, self.conditions))}"


Window = TimeWindow | CountWindow | PredicateWindow


def window(name: str, length: int, *fields: str, internal: bool = False, slide: int | None = None) -> TimeWindow:
    """Return a time window over a stream.

    >>> window("A", 6, "k").columns, window("A", 6, "k").title
    (('A.k',), 'window 6')
    """
    return TimeWindow(Stream(name, fields), length, internal, slide)


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


def _positive(number: int, of_what: str) -> None:
    if number < 1:
        raise InvalidInput(f"{of_what} is {number}", "give at least 1")
