"""Run a plan over arrivals, tuple by tuple, and count what enters its joins: the judge of the predictions.

Every plan gives the same *set* of results, not only as many (Observation 1, stated more strongly): a result is made
when its last tuple comes, if all others are still in their windows. A window of rows holds the last W arrivals of its
stream, or the last W that were kept (`survivors`); one of time holds what came less than T ago. Each arrival looks
once at the windows of all joins, so a run costs arrivals × M(p), and the pairs that are compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tidewheel.queries.literature.optimiser.drops.plan_drops import ARRIVALS
from tidewheel.queries.literature.optimiser.plan_tree import Join, Leaf, Select, Tree
from tidewheel.queries.literature.optimiser.window_query import Pair, WindowQuery


@dataclass(frozen=True)
class Arrival:
    """A tuple: its number in its stream, its moment, its value for each predicate, and the selections it passes."""

    stream: str
    number: int
    at: float = 0.0
    values: Mapping[Pair, int] = field(default_factory=dict)
    passes: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        return f"{self.stream}:{self.number}"


class _Held(NamedTuple):
    place: int  # among those that its window counts
    arrival: Arrival


Row = dict[str, _Held]


class Execution:
    """A plan at work. `entered` counts the tuples that came into each join, by the join's text."""

    def __init__(self, tree: Tree, query: WindowQuery, window_of: str = ARRIVALS) -> None:
        self.query, self.window_of = query, window_of
        self.windows: dict[str, list[Row]] = {}  # by the text of a join's input
        self.entered: Counter[str] = Counter()
        self.tested: Counter[str] = Counter()  # by selection
        self.results: list[frozenset[str]] = []
        self._counted: Counter[str] = Counter()
        self._looks = 0
        self._seen: Counter[str] = Counter()
        self._paths: dict[str, list[Tree]] = {}
        self._read: dict[str, frozenset[str]] = {}  # the streams of a join's input
        self._timed = {one.name: float(one.length) for one in query.streams if one.length is not None}
        self._rows = {one.name: float(one.window) for one in query.streams}  # fractions would be compared slowly
        self._prepare(tree, [])

    def _prepare(self, tree: Tree, above: list[Tree]) -> None:
        path = [tree, *above]
        if isinstance(tree, Leaf):
            self._paths[tree.stream] = path
        elif isinstance(tree, Select):
            self._prepare(tree.below, path)
        else:
            for side in (tree.left, tree.right):
                self.windows[str(side)] = []
                self._read[str(side)] = side.streams
                self._prepare(side, path)

    def arrive(self, arrival: Arrival, *, is_kept: bool = True) -> None:
        """Bring in a tuple, or, if it is not kept, the gap that its drop box leaves."""
        if is_kept or self.window_of == ARRIVALS:
            self._counted[arrival.stream] += 1
        self._expire(arrival)
        if is_kept:
            self._climb([{arrival.stream: _Held(self._counted[arrival.stream], arrival)}], self._paths[arrival.stream])
        self._looks += 1
        for text, rows in self.windows.items():
            self._seen[text] += len(rows)

    def mean_window(self, text: str) -> float:
        """Return how many rows of a join's input were valid on average."""
        return self._seen[text] / max(1, self._looks)

    def _expire(self, arrival: Arrival) -> None:
        for text, streams in self._read.items():
            if arrival.stream in streams or streams & self._timed.keys():
                self.windows[text] = [row for row in self.windows[text] if self._is_alive(row, arrival)]

    def _is_alive(self, row: Row, newest: Arrival) -> bool:
        for name, held in row.items():
            if name in self._timed:
                if held.arrival.at <= newest.at - self._timed[name]:
                    return False
            elif held.place <= self._counted[name] - self._rows[name]:
                return False
        return True

    def _climb(self, rows: list[Row], path: list[Tree]) -> None:
        """Bring rows from a stream through the operators above it."""
        below = path[0]
        for tree in path[1:]:
            if isinstance(tree, Select):
                self.tested[tree.selection] += len(rows)
                stream = self.query.selection_named[tree.selection].stream
                rows = [row for row in rows if tree.selection in row[stream].arrival.passes]
            else:
                assert isinstance(tree, Join)
                rows = self._probe(rows, tree, below)
            below = tree
        self.results += [frozenset(held.arrival.name for held in row.values()) for row in rows]

    def _probe(self, rows: list[Row], tree: Join, below: Tree) -> list[Row]:
        """Join rows with the other side's window, and keep them in their own."""
        other = tree.right if below is tree.left else tree.left
        pairs = [pair for pair in self.query.factors if pair & below.streams and pair & other.streams]
        self.entered[str(tree)] += len(rows)
        self.windows[str(below)] += rows
        return [row | match for row in rows for match in self.windows[str(other)] if _matches(row | match, pairs)]


def _matches(row: Row, pairs: Iterable[Pair]) -> bool:
    for pair in pairs:
        one, other = (row[name].arrival.values.get(pair) for name in pair)
        if one != other:
            return False
    return True
