"""Calendar queue: records of different lifetimes by the day on which they end (Golab 2006, section 3.5.2).

n days divide a year of S time units; a record is put in the day of its exp, and expiry reads only the days that have
passed since the last one.

Departs from the thesis, which drops a day whole: between two recyclings one day holds records of two years (at n=5,
S=50, now=55, exp 56-60 and 101-105 share a day), so each record's exp is tested inside its day. A disk that drops a
day as one file needs n + 1 days instead: `Partitions`.

A record that never ends has no day and is kept beside them. Insert and expire cost what the day's order costs
(`days.py`); a record that ends early is searched in its day, or in all of them as the thesis does (`scans_all`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.state.days import Day, Unsorted, day_type
from tidewheel.queries.literature.state.records import FOREVER, Record, Steps, end_order


class CalendarQueue:
    """
    >>> queue = CalendarQueue(Steps(), days=5, year=50, now=50)
    >>> [queue.day_of(exp) for exp in (51, 60, 61, 71, 100, 105)]
    [0, 0, 1, 2, 4, 0]
    """

    def __init__(
        self, steps: Steps, days: int, year: int, order: str = "unsorted", now: int = 0, *, scans_all: bool = False
    ) -> None:
        if days < 1 or year < 1:
            raise InvalidInput(f"a calendar queue of {days} days in a year of {year}", "both are 1 or more")
        self.steps, self.year, self.scans_all = steps, year, scans_all
        self.width = -(-year // days)
        kind = day_type(order)
        self.days: list[Day] = [kind(steps) for _ in range(days)]
        self._endless: Day = Unsorted(steps)
        self._last = now
        self._size = 0

    def day_of(self, exp: float) -> int:
        return (int(exp) - 1) // self.width % len(self.days)

    def insert(self, record: Record) -> None:
        if record.exp != FOREVER and not self._last < record.exp <= max(record.ts, self._last) + self.year:
            raise InvalidInput(
                f"exp={record.exp} at {self._last}: lifetime exceeds bound S={self.year}, or has ended",
                "make the calendar queue's year the longest lifetime",
            )
        self._day(record).insert(record)
        self._size += 1

    def _day(self, record: Record) -> Day:
        return self._endless if record.exp == FOREVER else self.days[self.day_of(record.exp)]

    def expire(self, now: int) -> list[Record]:
        first, last = self._last // self.width, (now - 1) // self.width
        found: list[Record] = []
        for number in range(max(first, last - len(self.days) + 1), last + 1):
            found += self.days[number % len(self.days)].expire(now)
        self._last = max(self._last, now)
        self._size -= len(found)
        return sorted(found, key=end_order)

    def discard(self, record: Record) -> None:
        searched = chain(self.days, [self._endless]) if self.scans_all else [self._day(record)]
        self._size -= any(day.discard(record) for day in searched)

    def take_out(self, record: Record) -> None:
        """Remove a record whose place is known: no search is counted."""
        before = self.steps.touched
        self.discard(record)
        self.steps.touched = before

    def __iter__(self) -> Iterator[Record]:
        return chain.from_iterable((*self.days, self._endless))

    def __len__(self) -> int:
        return self._size


class Partitions:
    """Days that lie on disk, n + 1 of them, so that a day that has passed is dropped as one file, unread.

    >>> kept = Partitions(days=5, year=50)
    >>> for exp in (51, 60, 61, 105):
    ...     kept.insert(exp)
    >>> kept.drop_until(60), sorted(kept.held)
    ([51, 60], [6, 10])
    """

    def __init__(self, days: int, year: int) -> None:
        self.width, self.files = -(-year // days), days + 1
        self.held: dict[int, list[int]] = {}

    def insert(self, exp: int) -> None:
        day = (exp - 1) // self.width
        if self.held and day - min(self.held) >= self.files:
            raise InvalidInput(f"exp={exp} needs more than {self.files} days at once", "drop the days that have passed")
        self.held.setdefault(day, []).append(exp)

    def drop_until(self, now: int) -> list[int]:
        """Drop the days that have passed whole. What ended in a day that is still open waits for its end."""
        passed = [day for day in sorted(self.held) if (day + 1) * self.width <= now]
        return [exp for day in passed for exp in self.held.pop(day)]
