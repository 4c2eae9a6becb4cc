"""A matching of maximum weight in any graph: Edmonds' blossoms with potentials, in O(n³).

Vertices carry potentials, edges the slack `potential + potential - 2 × weight`, which never goes below 0. From every
unmatched vertex a tree grows along edges without slack, even and odd vertices in turns. Two even vertices of different
trees give an augmenting path; of one tree, an odd cycle, which is shrunk into a *blossom* and treated as one vertex.
When no tree can grow, potentials shift by as much as keeps all slacks, until an even vertex's potential is used up.

Vertices are numbered from 1, blossoms from n + 1; 0 is nobody. Weights are whole numbers: none is a rounded one.

Galil, *Efficient Algorithms for Finding Maximum Matching in Graphs*, 1986.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

FREE, EVEN, ODD = -1, 0, 1


def heaviest_matching(weights: Sequence[Sequence[int]]) -> list[int | None]:
    """Whom each vertex is matched with. Weights are symmetric; those of 0 and less are no edges.

    >>> heaviest_matching([[0, 5, 6, 0], [5, 0, 0, 6], [6, 0, 0, 1], [0, 6, 1, 0]])
    [2, 3, 0, 1]
    """
    graph = _Graph(weights)
    while graph.grow():
        pass
    return [mate - 1 if mate else None for mate in graph.mates()]


class _Graph:
    def __init__(self, weights: Sequence[Sequence[int]]) -> None:
        self._n = n = len(weights)
        size = 2 * n + 1
        self._weights = [[0] * size for _ in range(size)]
        # Which two vertices an edge between blossoms really joins.
        self._ends = [[(u, v) for v in range(size)] for u in range(size)]
        for u in range(n):
            for v in range(n):
                self._weights[u + 1][v + 1] = max(0, weights[u][v]) if u != v else 0
        most = max((max(row) for row in self._weights), default=0)
        self._potential = [most] * (n + 1) + [0] * n
        self._top = n
        self._match = [0] * size  # the vertex at the other end of the matched edge
        self._slack_from = [0] * size
        self._outer = [*range(n + 1), *[0] * n]
        self._parent = [0] * size  # the vertex through which a tree came
        self._sub_of = [[vertex if vertex == inner else 0 for inner in range(size)] for vertex in range(size)]
        self._label = [FREE] * size
        self._seen = [0] * size
        self._walk = 0
        self._cycle: list[list[int]] = [[] for _ in range(size)]
        self._queue: deque[int] = deque()

    def mates(self) -> list[int]:
        return self._match[1 : self._n + 1]

    def grow(self) -> bool:
        """One augmentation; False when there is none that adds weight."""
        self._plant()
        if not self._queue:
            return False
        while True:
            if self._search():
                return True
            if not self._shift():
                return False
            if self._follow_tight():
                return True
            for b in range(self._n + 1, self._top + 1):
                if self._outer[b] == b and self._label[b] == ODD and self._potential[b] == 0:
                    self._expand(b)

    def _plant(self) -> None:
        """Begin a tree at every unmatched vertex."""
        for x in range(1, self._top + 1):
            self._label[x], self._slack_from[x] = FREE, 0
        self._queue.clear()
        for x in self._tops():
            if not self._match[x]:
                self._parent[x], self._label[x] = 0, EVEN
                self._enqueue(x)

    def _tops(self) -> list[int]:
        return [x for x in range(1, self._top + 1) if self._outer[x] == x]

    def _slack(self, x: int, y: int) -> int:
        u, v = self._ends[x][y]
        return self._potential[u] + self._potential[v] - 2 * self._weights[u][v]

    def _note_slack(self, u: int, x: int) -> None:
        if not self._slack_from[x] or self._slack(u, x) < self._slack(self._slack_from[x], x):
            self._slack_from[x] = u

    def _find_slack(self, x: int) -> None:
        self._slack_from[x] = 0
        for u in range(1, self._n + 1):
            if self._weights[u][x] > 0 and self._outer[u] != x and self._label[self._outer[u]] == EVEN:
                self._note_slack(u, x)

    def _enqueue(self, x: int) -> None:
        if x <= self._n:
            self._queue.append(x)
        else:
            for inner in self._cycle[x]:
                self._enqueue(inner)

    def _set_outer(self, x: int, blossom: int) -> None:
        self._outer[x] = blossom
        if x > self._n:
            for inner in self._cycle[x]:
                self._set_outer(inner, blossom)

    def _even_position(self, b: int, x: int) -> int:
        """Return x's place on the cycle. The cycle is reversed if need be, so that the number of steps is even."""
        cycle = self._cycle[b]
        at = cycle.index(x)
        if at % 2:
            cycle[1:] = cycle[:0:-1]
            return len(cycle) - at
        return at

    def _set_match(self, x: int, y: int) -> None:
        u, v = self._ends[x][y]
        self._match[x] = v
        if x > self._n:
            sub = self._sub_of[x][u]
            at = self._even_position(x, sub)
            cycle = self._cycle[x]
            for k in range(at):
                self._set_match(cycle[k], cycle[k ^ 1])
            self._set_match(sub, y)
            cycle[:] = cycle[at:] + cycle[:at]

    def _augment(self, x: int, y: int) -> None:
        while True:
            following = self._outer[self._match[x]]
            self._set_match(x, y)
            if not following:
                return
            parent = self._outer[self._parent[following]]
            self._set_match(following, parent)
            x, y = parent, following

    def _meeting(self, x: int, y: int) -> int:
        """Return where the paths to the roots meet; 0 if these are different trees."""
        self._walk += 1
        while x or y:
            if x:
                if self._seen[x] == self._walk:
                    return x
                self._seen[x] = self._walk
                x = self._outer[self._match[x]]
                if x:
                    x = self._outer[self._parent[x]]
            x, y = y, x
        return 0

    def _way_to(self, x: int, root: int) -> list[int]:
        way = []
        while x != root:
            odd = self._outer[self._match[x]]
            way += [x, odd]
            self._enqueue(odd)
            x = self._outer[self._parent[odd]]
        return way

    def _shrink(self, x: int, root: int, y: int) -> None:
        b = next((b for b in range(self._n + 1, self._top + 1) if not self._outer[b]), self._top + 1)
        self._top = max(self._top, b)
        self._potential[b], self._label[b], self._match[b] = 0, EVEN, self._match[root]
        one_way = self._way_to(x, root)
        self._cycle[b] = [root, *reversed(one_way), *self._way_to(y, root)]
        self._set_outer(b, b)
        for v in range(1, self._top + 1):
            self._weights[b][v] = self._weights[v][b] = 0
        for v in range(1, self._n + 1):
            self._sub_of[b][v] = 0
        for sub in self._cycle[b]:
            self._take_edges(b, sub)
        self._find_slack(b)

    def _take_edges(self, b: int, sub: int) -> None:
        for v in range(1, self._top + 1):
            if not self._weights[b][v] or self._slack(sub, v) < self._slack(b, v):
                self._weights[b][v], self._weights[v][b] = self._weights[sub][v], self._weights[v][sub]
                self._ends[b][v], self._ends[v][b] = self._ends[sub][v], self._ends[v][sub]
        for v in range(1, self._n + 1):
            if self._sub_of[sub][v]:
                self._sub_of[b][v] = sub

    def _expand(self, b: int) -> None:
        for sub in self._cycle[b]:
            self._set_outer(sub, sub)
        entry = self._sub_of[b][self._ends[b][self._parent[b]][0]]
        at = self._even_position(b, entry)
        cycle = self._cycle[b]
        for k in range(0, at, 2):
            odd, even = cycle[k], cycle[k + 1]
            self._parent[odd] = self._ends[even][odd][0]
            self._label[odd], self._label[even] = ODD, EVEN
            self._slack_from[odd] = 0
            self._find_slack(even)
            self._enqueue(even)
        self._label[entry], self._parent[entry] = ODD, self._parent[b]
        for sub in cycle[at + 1 :]:
            self._label[sub] = FREE
            self._find_slack(sub)
        self._outer[b] = 0

    def _reach(self, u: int, v: int) -> bool:
        """An edge without slack from an even vertex: the tree grows, a blossom shrinks, or (True) a path augments."""
        x, y = self._outer[u], self._outer[v]
        if self._label[y] == FREE:
            self._parent[y], self._label[y] = u, ODD
            mate = self._outer[self._match[y]]
            self._slack_from[y] = self._slack_from[mate] = 0
            self._label[mate] = EVEN
            self._enqueue(mate)
        elif self._label[y] == EVEN:
            root = self._meeting(x, y)
            if not root:
                self._augment(x, y)
                self._augment(y, x)
                return True
            self._shrink(x, root, y)
        return False

    def _search(self) -> bool:
        while self._queue:
            u = self._queue.popleft()
            if self._label[self._outer[u]] == ODD:
                continue
            for v in range(1, self._n + 1):
                if self._weights[u][v] > 0 and self._outer[u] != self._outer[v]:
                    if self._slack(u, v) == 0:
                        if self._reach(u, v):
                            return True
                    else:
                        self._note_slack(u, self._outer[v])
        return False

    def _shift(self) -> bool:
        """Moves all potentials as far as slacks allow; False if an even vertex's would be used up."""
        steps = [min(p for v, p in self._even_potentials())]
        for x in self._tops():
            if x > self._n and self._label[x] == ODD:
                steps.append(self._potential[x] // 2)
            if self._slack_from[x] and self._label[x] != ODD:
                slack = self._slack(self._slack_from[x], x)
                steps.append(slack if self._label[x] == FREE else slack // 2)
        step = min(steps)
        if step == steps[0]:
            return False
        for v in range(1, self._n + 1):
            self._potential[v] -= step * {EVEN: 1, ODD: -1, FREE: 0}[self._label[self._outer[v]]]
        for x in self._tops():
            if x > self._n:
                self._potential[x] += 2 * step * {EVEN: 1, ODD: -1, FREE: 0}[self._label[x]]
        return True

    def _even_potentials(self) -> list[tuple[int, int]]:
        return [(v, self._potential[v]) for v in range(1, self._n + 1) if self._label[self._outer[v]] == EVEN]

    def _follow_tight(self) -> bool:
        self._queue.clear()
        for x in range(1, self._top + 1):
            u = self._slack_from[x]
            tight = self._outer[x] == x and u and self._outer[u] != x and self._slack(u, x) == 0
            if tight and self._reach(*self._ends[u][x]):
                return True
        return False
