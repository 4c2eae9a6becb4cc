"""BIJ(s, b, f) and its generalised form: one value a slot of expiration time (chapter 8).

At version v slots v+1 .. v+b are held; position i = x - v, 1 the oldest. The (n, n)-join is the n youngest of them,
for a result is in it iff its older tuple is. Space b (2g + 1), update O(b + new results), a probe max(n1, n2) slots
and at most g (g + 1) / 2 merges more. Queries of any windows are answered by one scan (rule CS5).

Follows the source, but for its classes (`classes.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

from tidewheel.queries.literature.patterns.join_synopses.classes import (
    Class,
    Joined,
    by_slot,
    check_windows,
    tail,
)
from tidewheel.queries.literature.synopses.values import Kind, Value

Windows = tuple[int, int]


class BasicIntervalJoin:
    """
    >>> from tidewheel.queries.literature.synopses.values import COUNT
    >>> synopsis = BasicIntervalJoin(COUNT, 4)
    >>> synopsis.update([Joined(1, 1, 1)]); synopsis.update([])
    >>> synopsis.probe(2, 2), synopsis.probe(1, 1)
    (1, 0)
    """

    letters = "BIJ"

    def __init__(self, kind: Kind, slots_max: int, wide: int = 0) -> None:
        self.kind, self.slots_max, self.wide = kind, slots_max, wide
        self.version = 0
        self.reads = 0  # slots that scans looked at
        self._slots: dict[int, dict[Class, Value]] = {slot: {} for slot in range(1, slots_max + 1)}

    def update(self, new: Iterable[Joined]) -> None:
        """One more slot has ended; results that were born and died in it are in no answer."""
        self.version += 1
        del self._slots[self.version]
        self._slots[self.version + self.slots_max] = {}
        for slot, values in by_slot(self.kind, new, self.slots_max, self.wide).items():
            held = self._slots.get(slot, {})
            for one, value in values.items():
                held[one] = self.kind.merge(held.get(one, self.kind.empty()), value)

    def full(self, position: int) -> Value:
        """Return all that expires in a slot, by its position."""
        found = self.kind.empty()
        for value in self._slots[self.version + position].values():
            found = self.kind.merge(found, value)
        return found

    def part(self, position: int, one: Class) -> Value:
        return self._slots[self.version + position].get(one, self.kind.empty())

    def probe(self, first: int, second: int) -> Value:
        """Return the aggregate of the join of the newest slots of either side."""
        return self.joint_probe([(first, second)])[first, second]

    def joint_probe(self, asked: Iterable[Windows]) -> dict[Windows, Value]:
        """Answer queries of any windows by one scan, the youngest slot first (CS5)."""
        wanted = dict.fromkeys(asked)
        for windows in wanted:
            check_windows(*windows, self.slots_max, self.wide)
        found: dict[Windows, Value] = {}
        folded = self.kind.empty()
        for count in range(1, max(map(max, wanted)) + 1):
            position = self.slots_max - count + 1
            self.reads += 1
            folded = self.kind.merge(self.full(position), folded)
            for windows in wanted:
                if min(windows) == count:
                    found[windows] = folded
                elif min(windows) < count <= max(windows):
                    found[windows] = self._with_tail(found[windows], windows, position)
        return found

    def _with_tail(self, value: Value, windows: Windows, at: int) -> Value:
        for position, one in tail(*windows, self.slots_max, self.wide):
            if position == at:
                value = self.kind.merge(self.part(position, one), value)
        return value

    @property
    def values(self) -> list[Value]:
        """The slots' values, the oldest first."""
        return [self.full(position) for position in range(1, self.slots_max + 1)]
