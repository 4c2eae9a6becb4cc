"""FlatFAT, the core of Reactive Aggregator: a binary tree over a ring of N >= n leaves, N a power of two, in one array.

Node i has the children 2i and 2i + 1, leaf j is node N + j.
1. An insert writes the next leaf and folds its path to the root: log2 N operations.
2. A query covers its range of leaves by the fewest nodes, left to right: at most 2 log2 N operations.
3. Where the ring has wrapped, the range is two: first the older part, up to leaf N, then the newer, from leaf 0.
The root itself answers only a range of all N leaves, and then only if the oldest leaf is leaf 0 or order is no matter.
2N values.
Departs from the printed listing: its root answers too often: expired leaves, and the wrong order once the ring wrapped.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidewheel.queries.operation import Operation
from tidewheel.queries.technique import Technique


class FlatFAT(Technique):
    name = "FlatFAT"
    state_names = ("tree", "cursor")

    def __init__(self, operation: Operation, counts: Iterable[int], *, checked: bool = False) -> None:
        super().__init__(operation, counts, checked=checked)
        self.leaves = 1 << (self.size - 1).bit_length()
        self.tree, self.cursor = self._empty(2 * self.leaves), 0  # node 0 is not used

    @property
    def reach(self) -> int:
        return self.leaves

    def insert(self, partial: Any) -> None:
        node = self.leaves + self.cursor
        self.tree[node] = partial
        while node > 1:
            node //= 2
            self.tree[node] = self._join(self.tree[2 * node], self.tree[2 * node + 1])
        self.cursor = (self.cursor + 1) % self.leaves

    def _query(self, count: int) -> Any:
        first, end = (self.cursor - count) % self.leaves, self.cursor or self.leaves
        if count == self.leaves and (self.operation.commutative or not first):
            return self.tree[1]
        nodes = self.cover(first, end) if first < end else self.cover(first, self.leaves) + self.cover(0, end)
        return self._fold(self.tree[node] for node in nodes)

    def cover(self, first: int, end: int) -> list[int]:
        """The fewest nodes whose leaves are first, ..., end - 1, from left to right."""
        left: list[int] = []
        right: list[int] = []
        first, end = first + self.leaves, end + self.leaves
        while first < end:
            if first % 2:
                left.append(first)
                first += 1
            if end % 2:
                end -= 1
                right.append(end)
            first, end = first // 2, end // 2
        return left + right[::-1]
