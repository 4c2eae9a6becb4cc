"""The isolation levels that a history keeps (definitions 7.1 and 7.2), decided by the versions that were read.

    WS    window-serializable: the versions are consecutive slides, none later than the commit
    SSI   strong snapshot isolation: WS, and at least as new as the query's start
    LWS   latest-window-serializable: WS, and the state at the commit
    CPS   commit-order preserving: whoever comes first by a conflict commits first

LWS implies SSI implies WS. The source's tests by the serialization graph (theorems 7.1 and 7.2) hold for queries over
the full window only: a slide takes a slot from a shorter window without touching what the query reads, so the graph has
no edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidewheel.queries.literature.isolation.histories import History, Kind, Read, Step

Edge = tuple[str, str]


@dataclass(frozen=True)
class Levels:
    """The levels that one query keeps."""

    read: Read
    window: bool
    strong: bool
    latest: bool


@dataclass(frozen=True)
class Classified:
    queries: tuple[Levels, ...]
    edges: tuple[Edge, ...]
    is_serializable: bool
    is_commit_preserving: bool

    def to_json(self) -> dict[str, Any]:
        return {
            "queries": [
                {
                    "query": levels.read.query,
                    "versions": list(levels.read.versions),
                    "WS": levels.window,
                    "SSI": levels.strong,
                    "LWS": levels.latest,
                }
                for levels in self.queries
            ],
            "edges": [list(edge) for edge in self.edges],
            "serializable": self.is_serializable,
            "CPS": self.is_commit_preserving,
        }


def levels_of(read: Read) -> Levels:
    newest = max(read.versions)
    are_consecutive = sorted(read.versions) == list(range(newest - len(read.versions) + 1, newest + 1))
    window = are_consecutive and newest <= read.committed_at
    return Levels(
        read, window, strong=window and newest >= read.began_at, latest=window and newest == read.committed_at
    )


def serialization_graph(history: History) -> list[Edge]:
    """Return the edges between queries and slides: T5 -> Q where Q read what slide 5 wrote, or later; else Q -> T5."""
    edges = []
    for read in history.reads():
        seen = {history.ring.slot_of(version): version for version in read.versions}
        for slide in history.slides:
            version = seen.get(history.ring.slot_of(slide))
            if version is not None:
                edges.append((f"T{slide}", read.query) if version >= slide else (read.query, f"T{slide}"))
    return edges


def is_acyclic(edges: list[Edge]) -> bool:
    """Take away nodes that nothing leads to until none is left, or none can go."""
    left = list(edges)
    while left:
        targets = {target for _, target in left}
        kept = [edge for edge in left if edge[0] in targets]
        if len(kept) == len(left):
            return False
        left = kept
    return True


def classify(history: History) -> Classified:
    edges = serialization_graph(history)
    return Classified(
        queries=tuple(levels_of(read) for read in history.reads()),
        edges=tuple(edges),
        is_serializable=is_acyclic(edges),
        is_commit_preserving=all(_commit(history, one) < _commit(history, other) for one, other in edges),
    )


def _commit(history: History, name: str) -> int:
    if name.startswith("T") and name[1:].isdigit():
        return history.place_of_commit(Step(Kind.COMMIT_SLIDE, slide=int(name[1:])))
    return history.place_of_commit(Step(Kind.COMMIT_QUERY, query=name))
