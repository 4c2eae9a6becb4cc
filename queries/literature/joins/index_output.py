"""A join's live results in a doubly partitioned index, beside a log of all that was reported.

Golab, Waterloo 2006, chapters 4 and 5: a result is the record of the weak class, ts = max and exp = min of its parts.
Each update empties the column of what dies and fills the row of what is new. Restored results go to the log alone, so
the index holds the same with restore and without. Count windows are refused: their results have no end to be placed by.

No listing is printed: the places follow from the index of chapter 4. Cost of an update: G + E - 1 sub-indices.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from tidewheel.queries.literature.joins.liveness import alive
from tidewheel.queries.literature.joins.window_join import Result, WindowJoin
from tidewheel.queries.statements.legality import Illegal
from tidewheel.queries.statements.result_places import ResultIndex, longest_life


class IndexedJoin:
    """`touched_last` is how many sub-indices the last update read or wrote: at most G + E - 1."""

    def __init__(self, join: WindowJoin, slide: int, rows: int, columns: int) -> None:
        lengths = []
        for place, window in enumerate(join.windows, start=1):
            if window.length is None:
                raise Illegal(f"count-based window on stream {place} has unpredictable expirations; use output=log")
            lengths.append(int(window.length))
        self.index = ResultIndex(longest_life(lengths, slide, rows, columns), slide, rows, columns)
        self.log: list[Result] = []
        self.touched_last = 0
        self._alive = alive(join.closed)
        self._parts: dict[int, list[Result]] = defaultdict(list)

    def update(self, now: int, results: Iterable[Result]) -> None:
        """Take what a run reported."""
        found = list(results)
        self.log += found
        new = [result for result in found if not result.restored]
        places = self.index.touched(now)
        for place in places:
            self._parts[place] = [held for held in self._parts[place] if self._alive(now, held.exp)]
        for result in new:
            self._parts[self.index.inserted(int(result.ts), int(result.exp), now)].append(result)
        self.touched_last = len(places)

    def content(self) -> list[Result]:
        """Return all rows of the index."""
        return [result for part in self._parts.values() for result in part]
