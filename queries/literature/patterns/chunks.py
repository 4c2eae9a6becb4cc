"""A distributive aggregate over a long window as the aggregate of the last chunks (sections 2.3.4 and 3.2.3).

RANGE W SLIDE d is one value for each d, kept by an output window of W/d rows: the survey's nested text
`SUM(Wstream(SUM(a))[ROWS 10]) FROM S[RANGE 6 SLIDE 6]`. The buffer folds the newest chunk as values come; an update
of the window overwrites the oldest chunk. Cost of a slide: one write and W/d - 1 merges.

Follows the example.
"""

from __future__ import annotations

from tidewheel.queries.literature.state.ring import Ring
from tidewheel.queries.literature.synopses.values import Kind, Value
from tidewheel.queries.statements.legality import check_synopsis


class Chunks:
    """
    >>> from tidewheel.queries.literature.synopses.values import SUM
    >>> chunks = Chunks(SUM, length=18, slide=6)
    >>> for value in (5, 2):
    ...     chunks.add(value)
    >>> chunks.slide(), chunks.slide()
    (7, 7)
    """

    def __init__(self, kind: Kind, length: int, slide: int) -> None:
        check_synopsis(length, slide)
        self._kind, self.buffer = kind, kind.empty()
        self.chunks = Ring[Value](length // slide)

    def add(self, value: Value) -> None:
        self.buffer = self._kind.merge(self.buffer, value)

    def slide(self) -> Value:
        """Close the chunk that fills, overwrite the oldest one, and return the window's value."""
        self.chunks.put(self.buffer)
        self.buffer = self._kind.empty()
        total = self._kind.empty()
        for chunk in self.chunks:
            total = self._kind.merge(total, chunk)
        return total
