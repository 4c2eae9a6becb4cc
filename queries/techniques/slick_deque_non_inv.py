"""SlickDeque (Non-Inv): a monotone deque of the partials that can still win; one pass answers all ranges.

1. An insert drops the front if it has left the window, then every node at the back over which the newest wins, then
   appends the newest. What was dropped is absorbed by it: the operation selects and is associative.
2. Adjacent nodes keep the older one, so the fold of the newest k is the first node among them.
"Wins" is what `combine` picks, not equality of values; so ties go where the operation says, and an operation that is
not commutative is right too. On average fewer than two operations a slide (2 - 2/n for distinct values in any order),
n - 1 at worst; 2 to 2n values.
Departs from the printed listing: it skips nodes by `<=`, not `<`, which answers from an expired one; numbers only grow.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from tidewheel.queries.operation import AlgebraClass, Operation
from tidewheel.queries.technique import SLICK_NON_INV, Technique


class SlickDequeNonInv(Technique):
    name = SLICK_NON_INV
    classes = frozenset({AlgebraClass.SEL})
    state_names = ("nodes", "newest")

    def __init__(self, operation: Operation, counts: Iterable[int], *, checked: bool = False) -> None:
        super().__init__(operation, counts, checked=checked)
        self.nodes: deque[tuple[int, Any]] = deque()  # (number, partial); numbers only grow
        self.newest = -1

    def insert(self, partial: Any) -> None:
        self.newest += 1
        if self.nodes and self.nodes[0][0] == self.newest - self.size:
            self.nodes.popleft()
        if partial is None:
            return
        while self.nodes and self._join(self.nodes[-1][1], partial) is partial:
            self.nodes.pop()
        self.nodes.append((self.newest, partial))

    def _query(self, count: int) -> Any:
        return self.query_many([count])[count]

    def query_many(self, counts: Iterable[int]) -> dict[int, Any]:
        answers: dict[int, Any] = {}
        nodes = iter(self.nodes)
        number, partial = next(nodes, (None, None))
        for count in sorted(counts, reverse=True):
            self._refuse_count(count)
            while number is not None and number <= self.newest - count:
                number, partial = next(nodes, (None, None))
            answers[count] = partial
        return answers
