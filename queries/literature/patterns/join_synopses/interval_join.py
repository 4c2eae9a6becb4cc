"""IJ(s, b, f) and its generalised form: aligned intervals over the slot of the older tuple, m = x - b (chapter 8).

The layout is that of the interval synopsis of one window, so a probe is a handful of intervals; but a result that
comes late changes old slots, so an update may change every stored interval: 2b - 1 merges. The classes of windows
that differ are kept for single slots alone. Queries of the same two windows are probed once (rule CS4).

Follows the source, but for its classes (`classes.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

from tidewheel.queries.literature.patterns.join_synopses.basic_interval_join import BasicIntervalJoin
from tidewheel.queries.literature.patterns.join_synopses.classes import Joined, check_windows, tail
from tidewheel.queries.literature.synopses.values import Kind, Value
from tidewheel.queries.scheduling.covers import cover, power_of_two_from


class IntervalJoin:
    letters = "IJ"

    def __init__(self, kind: Kind, slots_max: int, wide: int = 0) -> None:
        self.kind, self.slots_max, self.wide = kind, power_of_two_from(slots_max), wide
        self._slots = BasicIntervalJoin(kind, self.slots_max, wide)  # level 0, by class
        self._levels: dict[tuple[int, int], Value] = {}
        self.reads = 0

    def update(self, new: Iterable[Joined]) -> None:
        self._slots.update(new)
        version, most = self._slots.version, self.slots_max
        self._levels = {(version - most + at, 1): self._slots.full(at) for at in range(1, most + 1)}
        width = 2
        while width <= most:
            for end in range(version - version % width, version - most + width - 1, -width):
                older, newer = self._levels[end - width // 2, width // 2], self._levels[end, width // 2]
                self._levels[end, width] = self.kind.merge(older, newer)
            width *= 2

    def probe(self, first: int, second: int) -> Value:
        check_windows(first, second, self.slots_max, self.wide)
        version = self._slots.version
        found = self.kind.empty()
        for interval in cover(version, min(first, second), self.slots_max):
            self.reads += 1
            found = self.kind.merge(self._levels[interval], found)
        for position, one in tail(first, second, self.slots_max, self.wide):
            found = self.kind.merge(self._slots.part(position, one), found)
        return found
