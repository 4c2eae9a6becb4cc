"""DABA, the De-Amortized Bankers Aggregator: TwoStacks whose flip is paid in instalments, at most 8 operations ever.

After Tangwongsan, Hirzel and Schneider, Low-Latency Sliding-Window Aggregation in Worst-Case Constant Time (DEBS 2017).
One queue of (value, fold) with six positions F <= L <= R <= A <= B <= E:

        F ......... L ......... R ......... A ......... B ......... E
          i to B-1    i to R-1    R to i      i to B-1    B to i           what the fold at position i covers

The front [F, B) is aggregated towards B, the back [B, E) away from it. Parts of the front still carry the folds that
they had as back; each step turns one of them on the left of L and one on the left of A. Always R - L = A - R and
(B - F) - (E - B) = (B - L) + 1 (the queue not being empty), so the work is done when it is needed.
One range, 2n values: two rings of n + 1 slots.
Departs from the printed listing: circular arrays instead of chunks; a pop, a push and a repair are one insert.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidewheel.indexing.errors import Damaged
from tidewheel.queries.operation import Operation
from tidewheel.queries.technique import Technique


class DABA(Technique):
    name = "DABA"
    one_count_only = True
    state_names = ("values", "folds", "f", "l", "r", "a", "b", "e")

    def __init__(self, operation: Operation, counts: Iterable[int], *, checked: bool = False) -> None:
        super().__init__(operation, counts, checked=checked)
        self.values: list[Any] = [None] * (self.size + 1)
        self.folds: list[Any] = [None] * (self.size + 1)
        self.f = self.l = self.r = self.a = self.b = self.e = 0

    @property
    def reach(self) -> int:
        return self.size + 1  # a slot of the rings is overwritten last

    def insert(self, partial: Any) -> None:
        if self.e - self.f == self.size:
            self.f += 1
            self._fix()
        self._put(self.e, self._join(self._fold_at(self.e - 1, self.b < self.e), partial))
        self.values[self.e % len(self.values)] = partial
        self.e += 1
        self._fix()

    def _query(self, count: int) -> Any:
        if self.f == self.e:
            return self.operation.identity
        return self._join(self._fold_at(self.f, self.f < self.b), self._fold_at(self.e - 1, self.b < self.e))

    def positions(self) -> tuple[int, int, int, int, int, int]:
        return self.f, self.l, self.r, self.a, self.b, self.e

    def _fix(self) -> None:
        if self.f == self.b:  # the front is empty: the back, of one partial at most, becomes the front
            self.l = self.r = self.a = self.b = self.e
        else:
            if self.l == self.b:  # flip: nothing is left to turn, so the back is what comes to be turned
                self.l, self.a, self.r, self.b = self.f, self.e, self.b, self.e
            if self.l == self.r:  # shift
                self.l, self.r, self.a = self.l + 1, self.r + 1, self.a + 1
            else:
                self._shrink()
        if self.checked:
            self.check()

    def _shrink(self) -> None:
        right, last = self._fold_at(self.a - 1, self.r < self.a), self._fold_at(self.a, self.a < self.b)
        self._put(self.l, self._join(self._join(self._fold_at(self.l, True), right), last))
        self._put(self.a - 1, self._join(self.values[(self.a - 1) % len(self.values)], last))
        self.l, self.a = self.l + 1, self.a - 1

    def _fold_at(self, position: int, there: bool) -> Any:
        return self.folds[position % len(self.folds)] if there else None

    def _put(self, position: int, fold: Any) -> None:
        self.folds[position % len(self.folds)] = fold

    def check(self) -> None:
        positions = self.positions()
        if list(positions) != sorted(positions):
            raise Damaged(f"DABA: positions out of order: {positions}")
        if self.f < self.e and not self._is_balanced():
            raise Damaged(f"DABA: sizes out of balance: {positions}")
        for position in range(self.f, self.e):
            first, end = self._span(position)
            covered = [self.values[other % len(self.values)] for other in range(first, end)]
            if not self._is_fold(self._fold_at(position, True), covered):
                raise Damaged(f"DABA: the fold at {position} is not that of {first} to {end - 1}: {positions}")

    def _is_balanced(self) -> bool:
        to_turn = self.r - self.l == self.a - self.r
        return to_turn and (self.b - self.f) - (self.e - self.b) == (self.b - self.l) + 1

    def _span(self, position: int) -> tuple[int, int]:
        """The partials that the fold at a position covers, half-open."""
        if position < self.l or self.a <= position < self.b:
            return position, self.b
        if position < self.r:
            return position, self.r
        return (self.r if position < self.a else self.b), position + 1
