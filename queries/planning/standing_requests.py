"""Standing queries as requests, in pools: those that may share partials at all.

What splits pools is what one partial row cannot serve: another time column, another way of counting, another tolerance
for records from ahead, windows with and without a beginning.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tidewheel.queries.planning.workload import Request
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.tree import window_of

PoolKey = tuple[Any, ...]


@dataclass(frozen=True)
class Pool:
    """Requests of one kind; `about` says which."""

    about: str
    requests: tuple[Request, ...]


def pools(queries: Iterable[Query]) -> list[Pool]:
    found: dict[PoolKey, list[Query]] = {}
    for query in queries:
        terms = query.terms
        kind = (terms.counts.value, terms.time, terms.ahead_us, terms.window_us is None)
        found.setdefault(kind, []).append(query)
    return [Pool(_about(kind), tuple(map(request_of, alike))) for kind, alike in found.items()]


def request_of(query: Query) -> Request:
    groups = frozenset(one.sql for one in query.groups)
    return Request(query.name, window_of(query), query.where, groups)


def _about(kind: PoolKey) -> str:
    counts, time, ahead_us, endless = kind
    words = [f"counts {counts}", f"by {time}" if time else "by insertion"]
    if ahead_us:
        words.append(f"{ahead_us // 1_000_000} s ahead")
    return ", ".join([*words, *(["of everything alive"] if endless else [])])
