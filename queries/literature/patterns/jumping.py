"""Windows that move in jumps: jumping, mixed jumping and tumbling ones (section 2.1.2).

A sliding window moves with each tuple or tick. A jumping one stays as it is until its next slide. Size and slide may
both be of ticks or of rows; a mixed jumping window has one of either. Where the slide is no less than the size it
tumbles: every tuple is in one window at most.

Follows the definitions. Cost of a jump: what the window holds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tidewheel.queries.literature.state.records import Record


class Extent(NamedTuple):
    """So many ticks, or so many rows."""

    amount: int
    rows: bool = False


class JumpingWindow:
    """
    >>> window = JumpingWindow(Extent(3, rows=True), Extent(5))
    >>> for ts in (1, 2, 4, 6, 7):
    ...     window.add(Record((0, ts), (), ts))
    >>> [one.ts for one in window.contents], window.is_mixed, window.tumbles
    ([1, 2, 4], True, False)
    """

    def __init__(self, size: Extent, slide: Extent, jumped: Callable[[list[Record]], None] | None = None) -> None:
        self._size, self._slide, self._jumped = size, slide, jumped
        self._held: list[Record] = []
        self._rows = self._ticks = 0
        self.contents: list[Record] = []

    @property
    def is_mixed(self) -> bool:
        return self._size.rows != self._slide.rows

    @property
    def tumbles(self) -> bool:
        return not self.is_mixed and self._slide.amount >= self._size.amount

    def add(self, record: Record) -> None:
        self.tick(record.ts - 1)
        self._held.append(record)
        self._rows += 1
        if self._slide.rows and self._rows % self._slide.amount == 0:
            self._jump(record.ts)

    def tick(self, now: int) -> None:
        """Move to a moment: all that came until then is there."""
        for at in range(self._ticks + 1, now + 1):
            if not self._slide.rows and at % self._slide.amount == 0:
                self._jump(at)
        self._ticks = max(self._ticks, now)

    def _jump(self, now: int) -> None:
        if self._size.rows:
            self._held = self._held[-self._size.amount :]
        else:
            self._held = [one for one in self._held if one.ts > now - self._size.amount]
        self.contents = list(self._held)
        if self._jumped is not None:
            self._jumped(self.contents)
