"""Synopses of one window: a value for each interval of slots, from which all windows up to some length are answered.

- running: totals since the beginning at b + 1 instants; two looked up for any window. The kind must subtract.
- intervals: aligned ones of 1, 2, 4, ... slots, 2b - 1 values; a window is a handful of them.
- basic intervals: the b newest slots; one scan from the youngest answers all windows on its way.

A synopsis that began late does not know the slots before, so each says how far it reaches: its coverage.

Arasu, Widom, *Resource Sharing in Continuous Sliding-Window Aggregates*, VLDB 2004; Golab, Waterloo 2006, chapter 8.
Departs from the printed listing: a running synopsis keeps b + 1 totals, so that the longest window is answered.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from tidewheel.indexing.errors import InvalidInput
from tidewheel.queries.literature.synopses.values import Kind, Value
from tidewheel.queries.scheduling.covers import cover, power_of_two_from


class Synopsis(ABC):
    """`version` is how many slots have been taken. `reads` counts the values that probes looked up."""

    letters: str

    def __init__(self, kind: Kind, slots_max: int, version: int = 0) -> None:
        if slots_max < 1:
            raise InvalidInput(f"a synopsis of {slots_max} slots", "it holds at least one")
        self.kind, self.slots_max, self.version = kind, slots_max, version
        self._known = 0
        self.reads = 0

    @property
    def coverage(self) -> int:
        """The longest window that can be answered now."""
        return min(self.slots_max, self._known)

    def update(self, value: Value) -> None:
        """One more slot has ended."""
        self.version += 1
        self._known += 1
        self._take(value)

    def probe(self, count: int) -> Value:
        """The newest `count` slots folded."""
        if not 1 <= count <= self.coverage:
            until = f" until version {self.version + count - self.coverage}" if 0 < count <= self.slots_max else ""
            raise InvalidInput(
                f"{count} slots are asked for, {self.coverage} are known{until}", "ask for fewer, or wait"
            )
        return self._probe(count)

    def extend(self, slots_max: int) -> None:
        """Reach further from now on: the oldest slots are kept instead of dropped."""
        self._known = self.coverage
        self.slots_max = max(self.slots_max, slots_max)

    @property
    @abstractmethod
    def size(self) -> int:
        """How many values it keeps."""

    @abstractmethod
    def _take(self, value: Value) -> None: ...

    @abstractmethod
    def _probe(self, count: int) -> Value: ...


class Running(Synopsis):
    letters = "R"

    def __init__(self, kind: Kind, slots_max: int, version: int = 0) -> None:
        super().__init__(kind, slots_max, version)
        if kind.subtract is None or not kind.is_bounded:
            raise InvalidInput(
                f"{kind.name} cannot use a running synopsis",
                "it needs a value that can be taken away again and stays small: use basic intervals",
            )
        self._totals = {version: kind.empty()}

    def _take(self, value: Value) -> None:
        self._totals[self.version] = self.kind.merge(self._totals[self.version - 1], value)
        self._totals.pop(self.version - self.slots_max - 1, None)

    def _probe(self, count: int) -> Value:
        assert self.kind.subtract is not None
        self.reads += 2
        return self.kind.subtract(self._totals[self.version], self._totals[self.version - count])

    @property
    def size(self) -> int:
        return len(self._totals)


class Intervals(Synopsis):
    letters = "I"

    def __init__(self, kind: Kind, slots_max: int, version: int = 0) -> None:
        super().__init__(kind, power_of_two_from(slots_max), version)
        self._levels: dict[tuple[int, int], Value] = {}

    def extend(self, slots_max: int) -> None:
        before = self.slots_max
        super().extend(power_of_two_from(slots_max))
        width = before
        while width < self.slots_max:  # what is there is joined at once
            for end, _ in sorted(key for key in self._levels if key[1] == width):
                self._join(end, 2 * width)
            width *= 2

    def _take(self, value: Value) -> None:
        self._levels[self.version, 1] = value
        width = 2
        while width <= self.slots_max and self.version % width == 0:
            self._join(self.version, width)
            width *= 2
        for key in [key for key in self._levels if key[0] <= self.version - self.slots_max]:
            del self._levels[key]

    def _join(self, end: int, width: int) -> None:
        older, newer = self._levels.get((end - width // 2, width // 2)), self._levels.get((end, width // 2))
        both = {(end - width // 2, width // 2), (end, width // 2)} <= self._levels.keys()
        if end % width == 0 and both:
            self._levels[end, width] = self.kind.merge(older, newer)

    def _probe(self, count: int) -> Value:
        intervals = cover(self.version, count, self.slots_max)
        self.reads += len(intervals)
        found = self.kind.empty()
        for interval in reversed(intervals):
            found = self.kind.merge(found, self._levels[interval])
        return found

    @property
    def size(self) -> int:
        return len(self._levels)


class Basic(Synopsis):
    letters = "BI"

    def __init__(self, kind: Kind, slots_max: int, version: int = 0) -> None:
        super().__init__(kind, slots_max, version)
        self._slots: list[Value] = []  # the oldest first

    def _take(self, value: Value) -> None:
        self._slots.append(value)
        del self._slots[: -self.slots_max]

    def backfill(self, values: Iterable[Value]) -> None:
        """The slots before those that are known, oldest first."""
        self._slots = [*values, *self._slots][-self.slots_max :]
        self._known = len(self._slots)

    def _probe(self, count: int) -> Value:
        return self.joint_probe([count])[count]

    def joint_probe(self, counts: Iterable[int]) -> dict[int, Value]:
        """All these windows by one scan from the youngest slot on."""
        wanted = set(counts)
        if max(wanted) > self.coverage or min(wanted) < 1:
            return {count: self.probe(count) for count in sorted(wanted, reverse=True)}
        found, folded = {}, self.kind.empty()
        for back in range(1, max(wanted) + 1):
            self.reads += 1
            folded = self.kind.merge(self._slots[-back], folded)
            if back in wanted:
                found[back] = folded
        return found

    @property
    def size(self) -> int:
        return len(self._slots)


FORMS = {form.letters: form for form in (Running, Intervals, Basic)}
