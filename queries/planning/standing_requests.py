"""Standing queries as requests, in pools: those that may share partials at all.

What splits pools is what one partial row cannot serve: another time column, another way of counting, another tolerance
for records from ahead, another rule for what is forgotten, windows with and without a beginning.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tidewheel.indexing.durations import duration_text
from tidewheel.queries.planning.workload import Request
from tidewheel.queries.standing.query import Erasure, Query
from tidewheel.queries.standing.tree import kind_of, window_of

PoolKey = tuple[Any, ...]


@dataclass(frozen=True)
class Pool:
    """Requests of one kind; `about` says which."""

    about: str
    requests: tuple[Request, ...]
    endless: bool = False  # windows without beginning, of everything alive


def pools(queries: Iterable[Query]) -> list[Pool]:
    found: dict[PoolKey, list[Query]] = {}
    for query in queries:
        found.setdefault(kind_of(query), []).append(query)
    return [
        Pool(_about(alike[0]), tuple(map(request_of, alike)), endless=alike[0].terms.window_us is None)
        for alike in found.values()
    ]


def request_of(query: Query) -> Request:
    groups = frozenset(one.sql for one in query.groups)
    return Request(query.name, window_of(query), query.where, groups)


def _about(query: Query) -> str:
    terms = query.terms
    words = [f"counts {terms.counts.value}", f"by {terms.time}" if terms.time else "by insertion"]
    words += [f"{duration_text(terms.ahead_us)} ahead"] * bool(terms.ahead_us)
    words += ["kept when its records are forgotten"] * (terms.erasure is Erasure.KEEP)
    words += ["of everything alive"] * (terms.window_us is None)
    return ", ".join(words)
