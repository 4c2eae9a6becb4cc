"""Panes, also called Naive: keep the partials, fold the window anew for every answer. The oracle of the others.

count - 1 operations an answer, n values. The best for windows of a few partials.
Follows the printed listing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidewheel.queries.operation import Operation
from tidewheel.queries.technique import Technique


class Naive(Technique):
    name = "Panes"
    state_names = ("partials", "cursor")

    def __init__(self, operation: Operation, counts: Iterable[int], *, checked: bool = False) -> None:
        super().__init__(operation, counts, checked=checked)
        self.partials, self.cursor = self._empty(self.size), 0  # the cursor is the slot of the oldest

    def insert(self, partial: Any) -> None:
        self.partials[self.cursor] = partial
        self.cursor = (self.cursor + 1) % self.size

    def _query(self, count: int) -> Any:
        return self._fold(self.partials[(self.cursor - age) % self.size] for age in range(count, 0, -1))
