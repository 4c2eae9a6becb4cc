"""One stream cut for many windows: the merged edges, and which run of fragments answers which report.

The slides of all windows repeat after their least common multiple, the period; so do the edges. Fragments are numbered
along the whole time axis, negative times too: fragment j of a period ends at its edge j. A number is found by bisecting
the edges of one period, so nothing is stored but those.

How many fragments a window has depends on the report: with uneven fragments, the window of length 7 may see 5 at one
report and 3 at the next. `count` is asked per report, never per window.

A fragment is half-open, [start, end), as windows are. With Cutty a report may fall inside a fragment: the run is then
followed by an open one, of which the part before the report counts.
Departs from the printed listing: how many partials a range has is asked per report, as it varies.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import gcd, lcm

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.slicing import EDGES_MAX, Slicing, edge_offsets
from tidewheel.queries.windows import Window

PERIOD_MAX = EDGES_MAX


@dataclass(frozen=True)
class FragmentRun:
    """The fragments first, ..., end - 1 in whole; and of fragment `end` the part before the report, if `is_open`."""

    first: int
    end: int
    is_open: bool

    @property
    def count(self) -> int:
        return self.end - self.first


@dataclass(frozen=True)
class SharedPlan:
    """Made by `build_shared_plan`. `edges` are those of one period, taken in (0, period]."""

    windows: tuple[Window, ...]
    slicing: Slicing
    period: int
    edges: tuple[int, ...]

    def number_of(self, at: int) -> int:
        """The fragment that holds a moment."""
        periods, rest = divmod(at, self.period)
        return periods * len(self.edges) + bisect_right(self.edges, rest)

    def end_of(self, number: int) -> int:
        periods, position = divmod(number, len(self.edges))
        return periods * self.period + self.edges[position]

    def start_of(self, number: int) -> int:
        return self.end_of(number - 1)

    def run(self, window: Window, report: int) -> FragmentRun:
        """The fragments that hold [report - length, report)."""
        end = self.number_of(report)
        return FragmentRun(self.number_of(report - window.length), end, self.start_of(end) != report)

    def count(self, window: Window, report: int) -> int:
        """Whole fragments of that window at that report: nP of the literature."""
        return self.run(window, report).count

    def due(self, at: int) -> list[Window]:
        """The windows that report at a moment, the one with most fragments first."""
        windows = (window for window in self.windows if window.reports_at(at))
        return sorted(windows, key=lambda window: -self.count(window, at))

    def reports_between(self, after: int, until: int) -> Iterator[tuple[int, list[Window]]]:
        """All report times T with after < T <= until, ascending, each with the windows due."""
        times = {report for window in self.windows for report in window.reports_between(after, until)}
        return ((at, self.due(at)) for at in sorted(times))

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """The different numbers of fragments that reports ask for, ascending: what a technique must answer."""
        return tuple(
            sorted({self.count(window, t) for window in self.windows for t in window.reports_between(0, self.period)})
        )

    @property
    def count_max(self) -> int:
        """The most fragments a report needs, at least one: wSize of the literature."""
        return max(1, self.counts[-1])


def build_shared_plan(windows: Iterable[Window], slicing: Slicing = Slicing.PAIRS) -> SharedPlan:
    """One plan for windows over one operation (or several that are answered together).

    >>> plan = build_shared_plan([Window(7, 5), Window(6, 2)])
    >>> plan.period, plan.edges, [plan.count(Window(6, 2), t) for t in (2, 4, 6, 8, 10)]
    (10, (2, 3, 4, 5, 6, 8, 10), [3, 4, 5, 5, 4])
    """
    distinct = tuple(dict.fromkeys(windows))
    if not distinct:
        raise InvalidInput("a plan without a window", "name at least one window")
    period = _period(distinct)
    phases = {(window.slide, offset) for window in distinct for offset in edge_offsets(window, slicing)}
    if sum(period // slide for slide, _ in phases) > EDGES_MAX:
        raise _too_long(distinct)
    edges = {edge or period for slide, offset in phases for edge in range(offset, offset + period, slide)}
    return SharedPlan(distinct, slicing, period, tuple(sorted(edges)))


def _period(windows: tuple[Window, ...]) -> int:
    slides = [window.slide for window in windows]
    period = lcm(*slides)
    if period // gcd(*slides) > PERIOD_MAX:
        raise _too_long(windows)
    return period


def _too_long(windows: tuple[Window, ...]) -> InvalidInput:
    slides = sorted({window.slide for window in windows}, reverse=True)
    shown = ", ".join(f"{slide} {windows[0].unit}" for slide in slides[:3]) + (", ..." if len(slides) > 3 else "")
    return InvalidInput(
        f"slides {shown} share no common period below {PERIOD_MAX}; split the plan (see weavability optimizers)",
        "use slides that divide one another, or plan these queries apart",
    )
