"""Panes (Inv), also called R-Int or Subtract-on-Evict: one running answer; the newest goes in, the oldest out.

Two operations a slide, n values, one range.
Departs from the printed listing: the inverse takes the older operand away on the left, where it stands.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidewheel.queries.operation import AlgebraClass, Operation
from tidewheel.queries.technique import Technique


class PanesInv(Technique):
    name = "Panes (Inv)"
    classes = frozenset({AlgebraClass.INV})
    one_count_only = True
    state_names = ("partials", "cursor", "answer")

    def __init__(self, operation: Operation, counts: Iterable[int], *, checked: bool = False) -> None:
        super().__init__(operation, counts, checked=checked)
        self.partials, self.cursor, self.answer = self._empty(self.size), 0, operation.identity

    def insert(self, partial: Any) -> None:
        self.answer = self._evict(self._join(self.answer, partial), self.partials[self.cursor])
        self.partials[self.cursor] = partial
        self.cursor = (self.cursor + 1) % self.size

    def _query(self, count: int) -> Any:
        return self.answer
