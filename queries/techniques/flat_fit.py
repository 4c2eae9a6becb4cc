"""FlatFIT, the Flat and Fast Index Traverser: a ring of partials that compresses itself where answers pass.

Slot i holds the fold of the partials from i up to, not including, slot next[i].
1. An insert writes the newest slot, and points it at the current one: the oldest.
2. A query walks the pointers from its oldest slot to the current one, remembering the way, then folds it backwards;
   each slot that it passes takes the fold from there on and points at the current slot, so the next walk jumps.
3. The slot at which a walk starts is about to be overwritten if the walk is of the whole window; else it is written
   too (`write_start`, ours: the published algorithm leaves it, and shorter ranges pay for that).

Where one range is asked after every insert, all pointers are single steps at slides 1, n + 2, 2n + 3, ...; the walk
then is one backward scan without a stack (`scan`, the optimised wReset). Exactly 3(n - 1)/(n + 1) operations a slide,
n - 1 at worst; n - 1 a slide for all ranges 1..n. 2n values and the stack.
Departs from the printed listing: operands the other way round, no pop of an empty stack, the oldest partial in wReset.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidewheel.indexing.errors import Damaged
from tidewheel.queries.operation import Operation
from tidewheel.queries.technique import Technique


class FlatFIT(Technique):
    name = "FlatFIT"
    state_names = (
        "partials",
        "next",
        "current",
        "previous",
        "inserted",
        "answers_this_slide",
        "asked_every_slide",
        "stack_max",
        "window",
    )

    def __init__(
        self,
        operation: Operation,
        counts: Iterable[int],
        *,
        checked: bool = False,
        write_start: bool = True,
        scan: bool = True,
    ) -> None:
        super().__init__(operation, counts, checked=checked)
        self.write_start = write_start
        self.scan = scan and len(self.counts) == 1
        self.partials = self._empty(self.size)
        self.next = [(slot + 1) % self.size for slot in range(self.size)]
        self.current, self.previous = 0, self.size - 1
        self.inserted = self.answers_this_slide = 0
        self.asked_every_slide = True
        self.stack_max = 0
        self.window = self._empty(self.size) if checked else []  # the raw partials by slot

    def insert(self, partial: Any) -> None:
        if self.inserted:
            self.asked_every_slide = self.asked_every_slide and self.answers_this_slide > 0
            self.previous, self.current = self.current, (self.current + 1) % self.size
        self.partials[self.previous], self.next[self.previous] = partial, self.current
        self.inserted += 1
        self.answers_this_slide = 0
        if self.checked:
            self.window[self.previous] = partial
            self.check()

    def _query(self, count: int) -> Any:
        if not self.inserted:  # a walk would compress slots of which the first insert overwrites one
            return self.operation.identity
        answer = self._scanned() if self._steps_are_single() else self._walked(count)
        self.answers_this_slide += 1
        if self.checked:
            self.check()
        return answer

    def _steps_are_single(self) -> bool:
        """True where the walks of one cycle are all overwritten; known only if every slide so far was asked about."""
        first_of_cycle = (self.inserted - 1) % (self.size + 1) == 0
        return self.scan and self.asked_every_slide and not self.answers_this_slide and first_of_cycle

    def _scanned(self) -> Any:
        fold, slot = self.partials[self.previous], self.previous
        self.next[slot] = self.current
        while (slot := (slot - 1) % self.size) != self.current and self.size > 1:
            fold = self.partials[slot] = self._join(self.partials[slot], fold)
            self.next[slot] = self.current
        return self._join(self.partials[self.current], fold) if self.size > 1 else self.partials[0]

    def _walked(self, count: int) -> Any:
        way = self._way((self.current - count) % self.size)
        fold = self.partials[way.pop()]
        while way:
            slot = way.pop()
            fold = self._join(self.partials[slot], fold)
            if way or (self.write_start and count < self.size):
                self.partials[slot], self.next[slot] = fold, self.current
        return fold

    def _way(self, start: int) -> list[int]:
        """The slots from a start to the current one, by the pointers."""
        way = [start]
        while (slot := self.next[way[-1]]) != self.current:
            way.append(slot)
        self.stack_max = max(self.stack_max, len(way))
        return way

    def check(self) -> None:
        for age in range(self.size):
            slot = (self.current + age) % self.size
            end = age + ((self.next[slot] - slot) % self.size or self.size)
            if end > self.size:
                raise Damaged(f"FlatFIT: the pointer of slot {slot} jumps past the current slot {self.current}")
            covered = [self.window[(self.current + other) % self.size] for other in range(age, end)]
            if not self._is_fold(self.partials[slot], covered):
                raise Damaged(f"FlatFIT: slot {slot} does not hold the fold up to slot {self.next[slot]}")
