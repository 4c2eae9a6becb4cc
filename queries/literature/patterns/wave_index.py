"""Wave index: a chronologically partitioned index on disk for equal lifetimes (sections 2.3.4 and 4.4).

A window of S is n sub-indices, each of S/n ticks, clustered by key. An update every Δ finds what is new and what has
ended in one and the same sub-index, so it rewrites one; n·Δ must divide S, else it would straddle two. Where
lifetimes differ, records end anywhere, and all n are touched: then a wave index is refused.

- REINDEX rebuilds the sub-index: one bucket a key, ordered by exp.
- DEL works in place: several buckets of one fixed size a key, one more on overflow, empty ones freed.
- `-ins` and `-exp` partition by insertion or by expiration time; the same where lifetimes are S.

Its rival, a single chronological index, is not clustered by key: updates touch its two ends, a probe reads all.
Measured are buckets and records that an update touches, and what a probe reads.

Departs from chapter 5's loops, which keep a record at its own exp: it is gone then, as in the examples of chapter 4.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.statements.labels import label
from tidewheel.queries.statements.legality import check_wave_index
from tidewheel.queries.statements.plan import Operator


class Entry(NamedTuple):
    key: Hashable
    ts: int
    exp: int


@dataclass
class SubIndex:
    """Buckets by key. `room` is the size of a bucket; None: one bucket a key, as large as it must be."""

    room: int | None
    buckets: dict[Hashable, list[list[Entry]]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Entry]:
        return (entry for held in self.buckets.values() for bucket in held for entry in bucket)

    def ended(self, now: int) -> list[int]:
        """Return the ts of records that have ended and are still stored."""
        return [one.ts for one in self if one.exp <= now]

    def update(self, now: int, new: list[Entry]) -> None:
        if self.room is None:
            self._rebuild(now, new)
        else:
            self._in_place(now, new, self.room)

    def _rebuild(self, now: int, new: list[Entry]) -> None:
        kept = [entry for entry in self if entry.exp > now]
        self.buckets = {}
        for entry in sorted([*kept, *new], key=lambda one: one.exp):
            self.buckets.setdefault(entry.key, [[]])[0].append(entry)

    def _in_place(self, now: int, new: list[Entry], room: int) -> None:
        for key, held in list(self.buckets.items()):
            kept = [[entry for entry in bucket if entry.exp > now] for bucket in held]
            self.buckets[key] = [bucket for bucket in kept if bucket]
            if not self.buckets[key]:
                del self.buckets[key]
        for entry in new:
            held = self.buckets.setdefault(entry.key, [[]])
            if len(held[-1]) == room:
                held.append([])
            held[-1].append(entry)


class Update(NamedTuple):
    touched: tuple[int, ...]  # numbers of sub-indices, from 1 on
    deleted: tuple[int, ...]  # ts of records
    inserted: tuple[int, ...]


class WaveIndex:
    """
    >>> index = WaveIndex("R-ins4", size=16, slide=2)
    >>> index.update(2, [Entry("k", at, at + 16) for at in (1, 2)]).touched
    (1,)
    """

    def __init__(self, name: str, size: int, slide: int, room: int = 4) -> None:
        found = re.fullmatch(r"([RD])-(ins|exp)(\d+)", name)
        if found is None:
            raise InvalidInput(f"no wave index is named {name}", "write R-ins4, D-ins4, R-exp4 or D-exp4, say")
        self.parts, self._by = int(found[3]), found[2]
        if size % (self.parts * slide):
            raise InvalidInput("n·Δ must divide S (wave index)", f"n = {self.parts}, Δ = {slide}, S = {size}")
        self._width = size // self.parts
        self.subs = [SubIndex(room if found[1] == "D" else None) for _ in range(self.parts)]

    def slot(self, at: int) -> int:
        return (at - 1) // self._width % self.parts

    def update(self, now: int, new: Iterable[Entry]) -> Update:
        """Take what came since the last update, and delete what has ended, touching only what holds either."""
        entries = list(new)
        coming: dict[int, list[Entry]] = {}
        for entry in entries:
            coming.setdefault(self.slot(entry.ts if self._by == "ins" else entry.exp), []).append(entry)
        gone = {number: ended for number, sub in enumerate(self.subs) if (ended := sub.ended(now))}
        touched = sorted(coming.keys() | gone.keys())
        for number in touched:
            self.subs[number].update(now, coming.get(number, []))
        deleted = sorted(ts for ended in gone.values() for ts in ended)
        inserted = sorted(entry.ts for entry in entries)
        return Update(tuple(number + 1 for number in touched), tuple(deleted), tuple(inserted))

    def probe(self, key: Hashable) -> list[Entry]:
        """Return the records of a key: all n directories are searched."""
        return [entry for sub in self.subs for bucket in sub.buckets.get(key, ()) for entry in bucket]

    @property
    def buckets(self) -> int:
        return sum(len(held) for sub in self.subs for held in sub.buckets.values())


def wave_index_over(plan: Operator, name: str, size: int, slide: int) -> WaveIndex:
    """Return a wave index for the results of a plan, which must all live equally long.

    >>> from tidewheel.queries.statements.plan import window
    >>> wave_index_over(window("S", 16, "k"), "R-ins4", 16, 2).parts
    4
    """
    index = WaveIndex(name, size, slide)
    check_wave_index(label(plan), size, index.parts, slide)
    return index


class ChronologicalIndex:
    """
    >>> index = ChronologicalIndex()
    >>> index.update(1, [Entry("k", 1, 3), Entry("m", 1, 3)]), index.probe("k")
    ((), ([Entry(key='k', ts=1, exp=3)], 2))
    """

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque()

    def update(self, now: int, new: Iterable[Entry]) -> tuple[int, ...]:
        """Append at one end and delete at the other; return the ts of what is deleted."""
        gone = []
        while self._entries and self._entries[0].exp <= now:
            gone.append(self._entries.popleft().ts)
        self._entries.extend(new)
        return tuple(gone)

    def probe(self, key: Hashable) -> tuple[list[Entry], int]:
        """Return the records of a key, and how many were read."""
        return [entry for entry in self._entries if entry.key == key], len(self._entries)
