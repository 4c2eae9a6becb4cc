"""The input of planners: queries as windows with predicates and group-bys, and how many records arrive."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.planning.edge_space import EdgeSpace, edge_space
from tidewheel.queries.planning.phases import Phases, phases_of
from tidewheel.queries.signatures import EVERY_ROW
from tidewheel.queries.slicing import Slicing
from tidewheel.queries.windows import Window


@dataclass(frozen=True)
class Request:
    """One query as a planner sees it. `Fraction`s of a unit are for the caller to scale away."""

    name: str
    window: Window
    predicate: str = EVERY_ROW
    groups: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Workload:
    """Requests that may share, and `rate`: records per unit of the windows' time (1 where windows count records)."""

    requests: tuple[Request, ...]
    rate: Fraction
    slicing: Slicing = Slicing.PAIRS

    def __post_init__(self) -> None:
        if self.rate < 0:
            raise InvalidInput(f"a rate of {self.rate} records per unit", "rates are 0 or more; measure a recent batch")
        twice = [name for name, count in Counter(one.name for one in self.requests).items() if count > 1]
        if twice:
            raise InvalidInput(f"query {twice[0]!r} is there twice", "name each query once")
        units = {one.window.unit for one in self.requests}
        if len(units) > 1:
            raise InvalidInput(f"windows in {' and '.join(sorted(units))} cannot share", "plan them apart")

    @cached_property
    def phases(self) -> tuple[Phases, ...]:
        return tuple(phases_of(one.window, self.slicing) for one in self.requests)

    @cached_property
    def space(self) -> EdgeSpace:
        return edge_space(self.phases)


def workload_of(windows: dict[str, Window] | list[Window], rate: Fraction | int | str) -> Workload:
    """Windows alone, by name or numbered from q1.

    >>> [one.name for one in workload_of([Window(12, 9), Window(10, 6)], 1).requests]
    ['q1', 'q2']
    """
    named = windows if isinstance(windows, dict) else {f"q{at}": one for at, one in enumerate(windows, start=1)}
    return Workload(tuple(Request(name, window) for name, window in named.items()), Fraction(rate))
