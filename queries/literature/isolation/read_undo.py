"""Undo in place of abort (section 7.6): what a slide takes from under a query is read again and subtracted.

Copies of expired sub-windows are retained. The aggregate must subtract: sums and counts, or values with their
multiplicities. No query aborts; each conflict costs one read more, and the order of TTU has fewest of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidewheel.queries.literature.isolation.window_ring import Ring


@dataclass
class UndoneSum:
    """A sum over the `length` youngest slots that absorbs every slide."""

    ring: Ring
    length: int
    last: int
    values: Mapping[int, int]  # of each version
    by_slot: bool = False  # in ascending slot order, else the youngest first
    total: int = 0
    undone: int = 0
    versions: list[int] = field(default_factory=list)

    @property
    def is_done(self) -> bool:
        return len(self.versions) == self.length

    def read(self) -> None:
        unread = [v for v in range(self.last, self.last - self.length, -1) if v not in self.versions]
        version = min(unread, key=self.ring.slot_of) if self.by_slot else unread[0]
        self.versions.append(version)
        self.total += self.values[version]

    def slide(self) -> None:
        self.last += 1
        gone = self.last - self.length
        if gone in self.versions and not self.is_done:
            self.versions.remove(gone)
            self.total -= self.values[gone]
            self.undone += 1
