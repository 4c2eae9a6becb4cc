"""RJ(s, b, f) and its generalised form: totals by expiration slot, for values that subtract (chapter 8).

F[x] is the total of what expires until x, for x = v .. v+b; only differences matter. An update carries the new
results' totals through all b slots. One array for each class. A probe is one subtraction for windows that are equal.
Space (b + 1)(2g + 1), update O(b (2g + 1)).

Departs from the source, which removes the prefix at the *new* time, F[v], and so leaves n = b unanswerable: the one
before it, F[v-1], is removed.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.patterns.join_synopses.classes import (
    Class,
    Joined,
    by_slot,
    check_windows,
    classes,
    tail,
)
from tidewheel.queries.literature.synopses.values import Kind, Value


class RunningJoin:
    letters = "RJ"

    def __init__(self, kind: Kind, slots_max: int, wide: int = 0) -> None:
        if kind.subtract is None or not kind.is_bounded:
            raise InvalidInput(f"{kind.name} cannot use a running join synopsis", "use BIJ")
        self.kind, self.slots_max, self.wide = kind, slots_max, wide
        self._subtract = kind.subtract
        self.version = 0
        self.reads = 0
        self._totals: dict[Class, dict[int, Value]] = {
            one: {slot: kind.empty() for slot in range(slots_max + 1)} for one in classes(wide)
        }

    def update(self, new: Iterable[Joined]) -> None:
        self.version += 1
        last = self.version + self.slots_max
        coming = by_slot(self.kind, new, self.slots_max, self.wide)
        for one, totals in self._totals.items():
            del totals[self.version - 1]
            totals[last] = totals[last - 1]
            carried = self.kind.empty()
            for slot in range(self.version + 1, last + 1):
                carried = self.kind.merge(carried, coming.get(slot, {}).get(one, self.kind.empty()))
                totals[slot] = self.kind.merge(totals[slot], carried)

    def probe(self, first: int, second: int) -> Value:
        check_windows(first, second, self.slots_max, self.wide)
        last = self.version + self.slots_max
        found = self.kind.empty()
        for totals in self._totals.values():
            self.reads += 2
            found = self.kind.merge(found, self._subtract(totals[last], totals[last - min(first, second)]))
        for position, one in tail(first, second, self.slots_max, self.wide):
            slot, totals = self.version + position, self._totals[one]
            found = self.kind.merge(found, self._subtract(totals[slot], totals[slot - 1]))
        return found

    @property
    def totals(self) -> list[Value]:
        """F[v] .. F[v+b], all classes together."""
        found = []
        for slot in range(self.version, self.version + self.slots_max + 1):
            total = self.kind.empty()
            for totals in self._totals.values():
                total = self.kind.merge(total, totals[slot])
            found.append(total)
        return found
