"""Partials in a grid of fragments × groups, kept while more of them come: what windows over few groups are folded from.

1. A partial is added to its cell when it comes, once, whatever windows will ask for it.
2. Rows between which no window begins or ends are joined, then columns that are one group to who asks.
3. A window is the difference of two running totals, or two rows of a doubling table that overlap: for all its groups
   at once, without searching or sorting.

What comes out are partials again, one for each window and group that has any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tidewheel.queries.kernels.arrays import Numbers, Whole
from tidewheel.queries.kernels.condensing import Chosen, Counts, Joined
from tidewheel.queries.kernels.doubling import doubled
from tidewheel.queries.kernels.prefix_sums import span_sums

ROWS = ""  # the column that counts the partials of each cell


@dataclass(frozen=True)
class RollUp:
    """A grid's columns by group: `order` lists the columns group by group, `begins` where each group starts in it."""

    order: Whole
    begins: Whole

    @staticmethod
    def of(columns: Whole, groups: Whole) -> RollUp:
        """Sort columns by the number of their group."""
        by_group = np.argsort(groups, kind="stable")
        return RollUp(columns[by_group], np.flatnonzero(np.diff(groups[by_group], prepend=-1)))

    def fold(self, ufunc: np.ufunc, rows: Numbers) -> Numbers:
        taken = rows[:, self.order]
        return taken if len(self.begins) == len(self.order) else ufunc.reduceat(taken, self.begins, axis=1)


@dataclass
class Grid:
    """The accumulators of some columns, from a first fragment on."""

    ways: Mapping[str, type[Joined]]
    first: int
    height: int
    width: int
    totals: dict[str, Joined] = field(init=False)
    alive_from: int = field(init=False)  # what lies before that fragment does not count

    def __post_init__(self) -> None:
        self.alive_from = self.first
        ways: dict[str, type[Joined]] = {ROWS: Counts, **self.ways}
        self.totals = {name: way(self.height * self.width) for name, way in ways.items()}

    @property
    def end(self) -> int:
        return self.first + self.height

    def add(self, values: Mapping[str, Any], rows: Whole, fragments: Whole, groups: Whole, count: int) -> None:
        """Add some of `count` partials; `values` are those of all, as their ways read them."""
        chosen = Chosen(rows, (fragments - self.first) * self.width + groups, count)
        self.totals[ROWS].add(np.ones(count, np.int64), chosen)
        for name, column in values.items():
            self.totals[name].add(column, chosen)

    def clear(self, first: int, end: int) -> None:
        """Take all partials of the fragments first, ..., end - 1 out."""
        for total in self.totals.values():
            total.clear(slice((first - self.first) * self.width, (end - self.first) * self.width))

    @property
    def is_exact(self) -> bool:
        return all(total.is_exact for total in self.totals.values())

    def between(self, edges: Whole) -> Segments:
        """The rows joined where no edge lies between them; edges ascend."""
        edges = np.unique(np.clip(edges, self.alive_from, self.end))
        return Segments(self, edges)


@dataclass(frozen=True)
class Segments:
    """The rows of a grid between edges."""

    grid: Grid
    edges: Whole
    _joined: dict[str, Joined] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.edges) - 1

    def rolled_up(self, names: Sequence[str], roll_up: RollUp) -> GroupSegments:
        """The accumulators of some columns, by segment and group of who asks."""
        shape, groups = (len(self), self.grid.width), len(roll_up.begins)

        def fold(ufunc: np.ufunc, flat: Numbers) -> Numbers:
            return roll_up.fold(ufunc, flat.reshape(shape)).ravel()

        totals = {name: self._column(name).folded(len(self) * groups, fold) for name in (ROWS, *names)}
        return GroupSegments(self.edges, groups, totals)

    def _column(self, name: str) -> Joined:
        if name not in self._joined:
            shape, width = (self.grid.height, self.grid.width), self.grid.width
            low, high = self.edges[0] - self.grid.first, self.edges[-1] - self.grid.first
            begins = self.edges[:-1] - self.edges[0]

            def fold(ufunc: np.ufunc, flat: Numbers) -> Numbers:
                rows = flat.reshape(shape)[low:high]
                return (rows if len(begins) == len(rows) else ufunc.reduceat(rows, begins, axis=0)).ravel()

            self._joined[name] = self.grid.totals[name].folded(len(self) * width, fold)
        return self._joined[name]


@dataclass(frozen=True)
class GroupSegments:
    """Accumulators by segment and group."""

    edges: Whole
    groups: int
    totals: Mapping[str, Joined]

    def windows(self, firsts: Whole, ends: Whole) -> tuple[Whole, Whole, dict[str, tuple[Joined, Whole]]]:
        """Fold windows over the fragments first, ..., end - 1.

        Return which window has which group, and for each column its accumulators with their cells.
        """
        start, end = (np.searchsorted(self.edges, np.clip(at, self.edges[0], self.edges[-1])) for at in (firsts, ends))
        (asked,) = np.nonzero(start < end)
        start, end, shape = start[asked], end[asked], (len(self.edges) - 1, self.groups)

        def fold(ufunc: np.ufunc, flat: Numbers) -> Numbers:
            rows = flat.reshape(shape)
            return (span_sums(rows, start, end) if ufunc is np.add else doubled(ufunc, rows, start, end)).ravel()

        folded = {name: total.folded(len(asked) * self.groups, fold) for name, total in self.totals.items()}
        counts = folded.pop(ROWS)
        assert isinstance(counts, Counts)
        (cells,) = np.nonzero(counts.totals)
        window, group = np.divmod(cells, max(1, self.groups))
        return asked[window], group, {name: (total, cells) for name, total in folded.items()}
