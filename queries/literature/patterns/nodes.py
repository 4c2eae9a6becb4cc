"""The tree of operators at work, and how records move through it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tidewheel.queries.literature.patterns.operators.operator import Edge, Working
from tidewheel.queries.statements.labels import Pattern


@dataclass
class Node:
    """An operator at work, and its output: how ends are told, their pattern, the longest lifetime.

    A leaf is where a stream's tuples enter: it has no operator, and gives them the `lifetime` of its time window.
    """

    working: Working | None
    edge: Edge
    pattern: Pattern
    year: int
    inputs: tuple[Node, ...] = ()
    stream: str = ""
    relation: str = ""
    lifetime: int | None = None
    is_internal: bool = False
    parent: Node | None = field(default=None, repr=False)
    side: int = 0

    def __post_init__(self) -> None:
        for side, below in enumerate(self.inputs):
            below.parent, below.side = self, side

    def walk(self) -> Iterator[Node]:
        """Give all nodes, each before its inputs."""
        yield self
        for below in self.inputs:
            yield from below.walk()
