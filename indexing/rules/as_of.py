"""The moment a read answers for, and the version that can still answer for it.

A version whose update removed what had expired by the end of its watermark W holds every record that is alive at
any moment from the end of W on. Of the time before it may have lost records, so an earlier moment needs an older
version: the newest one whose own watermark ends no later.

    watermark ends   v1 |10:00   v2 |11:00   v3 |12:00        as of 11:30: v2;   12:00 or later: v3;   9:00: none
"""

from __future__ import annotations

from collections.abc import Iterable

from tidewheel.indexing.core.definition import Clock
from tidewheel.indexing.core.slots import TimeAxis


def watermark_end_us(axis: TimeAxis, watermark: int | None) -> int | None:
    """Return the first moment a version with this watermark answers for; none while nothing has expired."""
    return None if watermark is None else axis.end_us(watermark)


def as_of_default_us(clock: Clock, end_us: int | None, now_us: int) -> int:
    """Return the moment meant when none is named: now for a live archive, the end of the data for a historic one.

    >>> as_of_default_us(Clock.WALL, 50, 70), as_of_default_us(Clock.WALL, 50, 40), as_of_default_us(Clock.DATA, 50, 70)
    (70, 50, 50)
    """
    if end_us is None:
        return now_us
    return max(now_us, end_us) if clock is Clock.WALL else end_us


def answers_for(end_us: int | None, as_of_us: int) -> bool:
    """Tell whether a version whose watermark ends then still holds all that is alive at a moment."""
    return end_us is None or as_of_us >= end_us


def version_as_of(watermarks: Iterable[tuple[int, int | None]], axis: TimeAxis, as_of_us: int) -> int | None:
    """Return the newest version that answers for a moment, of (version, watermark) pairs; none if all lost something.

    Versions without a watermark do not count: before its first update an archive knows of no record, and an
    empty answer would claim that there was none.

    >>> axis = TimeAxis(interval_us=10)
    >>> version_as_of([(0, None), (1, 3), (2, 4), (3, 6)], axis, 55)
    2
    """
    exact = (
        version for version, watermark in watermarks if watermark is not None and axis.end_us(watermark) <= as_of_us
    )
    return max(exact, default=None)
