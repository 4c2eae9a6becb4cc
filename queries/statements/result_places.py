"""Places of a join's results in a doubly partitioned index, and the results that it refuses.

Golab, Waterloo 2006, chapters 4 and 5: a result comes at the greatest ts of its parts and ends at the least exp,
so its life is at most the shortest window. Rows of the index are by insertion, columns by expiration; an update
touches one row and one column, G + E - 1 sub-indices. Results that are dead when they are reported (restored) go to a
log alone: their column is emptied by the same update.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm

from tidewheel.queries.statements.legality import Illegal


@dataclass(frozen=True)
class ResultIndex:
    """An index of G rows and E columns, each of so many slides of a longest life, counted from an origin."""

    longest: int
    slide: int
    rows: int
    columns: int
    origin: int = 0

    def __post_init__(self) -> None:
        if self.longest % (self.slide * lcm(self.rows, self.columns)):
            raise Illegal(
                f"a longest life of {self.longest} is no multiple of {self.slide} × lcm({self.rows}, {self.columns})",
                "round it up: longest_life() does",
            )

    def place(self, ts: int, exp: int) -> int:
        """Return the number of the sub-index, from 1.

        >>> ResultIndex(longest=16, slide=2, rows=2, columns=2, origin=16).place(17, 20)
        2
        """
        row = (ts - self.origin - 1) // self.slide % self.rows
        column = (exp - self.origin - 1) // self.slide % self.columns
        return row * self.columns + column + 1

    def inserted(self, ts: int, exp: int, now: int) -> int:
        """Return the place of a result that comes with the update at `now`; refuse what must not be in the index."""
        if not now - self.slide < ts <= now:
            raise Illegal(f"a result of ts={ts} does not come with the update at {now}: late or early")
        if exp - ts > self.longest:
            raise Illegal("lifetime exceeds bound S", f"the lifetime is {exp - ts}, the bound {self.longest}")
        if exp <= now:
            raise Illegal(
                f"a result with exp={exp} is dead at {now}", "it is restored: report it, and store it nowhere"
            )
        return self.place(ts, exp)

    def touched(self, now: int) -> tuple[int, ...]:
        """Return the sub-indices that the update at `now` reads or writes: a row and a column."""
        new = {self.place(now, self.origin + 1 + column * self.slide) for column in range(self.columns)}
        old = {self.place(self.origin + 1 + row * self.slide, now) for row in range(self.rows)}
        return tuple(sorted(new | old))


def longest_life(windows: list[int], slide: int, rows: int, columns: int) -> int:
    """Return the bound on the lives of a join's results, rounded up to what its index needs.

    >>> longest_life([60, 20], slide=3, rows=2, columns=4)
    24
    """
    unit = slide * lcm(rows, columns)
    return -(-min(windows) // unit) * unit
