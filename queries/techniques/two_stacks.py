"""TwoStacks: a queue made of two stacks, each element with the fold from it to where its stack begins.

The back stack takes partials in, the front stack gives them out. When the front is empty, the back is flipped over: n
operations at once, but 3 - 3/n on average. One range, 2n values.
Follows the printed listing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidewheel.queries.operation import Operation
from tidewheel.queries.technique import Technique


class TwoStacks(Technique):
    name = "TwoStacks"
    one_count_only = True
    state_names = ("front", "back")

    def __init__(self, operation: Operation, counts: Iterable[int], *, checked: bool = False) -> None:
        super().__init__(operation, counts, checked=checked)
        # (partial, fold): in front down to the stack's bottom, its newest; in back from the bottom, its oldest
        self.front: list[tuple[Any, Any]] = []
        self.back: list[tuple[Any, Any]] = []

    def insert(self, partial: Any) -> None:
        if len(self.front) + len(self.back) == self.size:
            self._pop()
        self.back.append((partial, self._join(self.back[-1][1], partial) if self.back else partial))

    def _pop(self) -> None:
        if not self.front:
            while self.back:
                partial, _ = self.back.pop()
                self.front.append((partial, self._join(partial, self.front[-1][1]) if self.front else partial))
        self.front.pop()

    def _query(self, count: int) -> Any:
        if self.front and self.back:
            return self._join(self.front[-1][1], self.back[-1][1])
        stack = self.front or self.back
        return stack[-1][1] if stack else self.operation.identity
