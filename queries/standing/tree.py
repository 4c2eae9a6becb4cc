"""A tree: which partial aggregates are kept together, for which queries.

A row of partials is one (insertion slot, fragment, signature, group) and, where only the living count, one expiration
slot. It holds an accumulator for each *fold* of the tree: an operation over arguments, kept once however many queries
use it. A tree is never changed: its name is made of its content, so what is stored under a name always means the
same, and a query that needs more gets another tree.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any

from tidewheel.queries.shared_plan import SharedPlan, build_shared_plan
from tidewheel.queries.signatures import EVERY_ROW, Signatures, split_predicates
from tidewheel.queries.standing.query import Call, Counts, Erasure, Named, Query
from tidewheel.queries.windows import Window

NAME_BYTES = 6
# Every tree counts its records: each answer says how many it is made of.
RECORDS = Call("count_rows")
# Aggregates whose accumulators hold more than those of earlier programs, and what: they are folded once more.
HOLDING_MORE = {"concatenate": "each value with its time"}


@dataclass(frozen=True)
class Tree:
    """The keys and the content of partial rows that several queries share."""

    groups: tuple[Named, ...]
    time: str
    counts: Counts
    windows: tuple[Window, ...]
    predicates: tuple[str, ...]
    calls: tuple[Call, ...]
    ahead_us: int
    horizon_us: int
    revise_us: int = 0
    erasure: Erasure = Erasure.DELETE
    endless: bool = False  # windows without beginning: of everything alive

    @cached_property
    def name(self) -> str:
        more = {call.aggregate: HOLDING_MORE[call.aggregate] for call in self.calls if call.aggregate in HOLDING_MORE}
        text = json.dumps({**self.to_json(), **more}, sort_keys=True)
        return blake2b(text.encode(), digest_size=NAME_BYTES).hexdigest()

    @cached_property
    def slices(self) -> SharedPlan:
        return build_shared_plan(self.windows)

    @cached_property
    def signatures(self) -> Signatures:
        return Signatures(self.predicates)

    def life_us(self, life_us: int) -> int:
        """How long a partial row lives at the longest, from its slot on; `life_us` is the longest life of a record."""
        if self.counts is Counts.LIVE:
            return life_us + self.revise_us
        return self.ahead_us + max(window.slide for window in self.windows) + self.horizon_us

    def to_json(self) -> dict[str, Any]:
        return {
            "groups": [one.to_json() for one in self.groups],
            "time": self.time,
            "counts": self.counts.value,
            "windows": [[one.length, one.slide, one.offset] for one in self.windows],
            "predicates": list(self.predicates),
            "calls": [one.to_json() for one in self.calls],
            "ahead_us": self.ahead_us,
            "horizon_us": self.horizon_us,
            "revise_us": self.revise_us,
            "erasure": self.erasure.value,
            "endless": self.endless,
        }

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> Tree:
        return Tree(
            groups=tuple(Named.from_json(one) for one in values["groups"]),
            time=values["time"],
            counts=Counts(values["counts"]),
            windows=tuple(Window(*one) for one in values["windows"]),
            predicates=tuple(values["predicates"]),
            calls=tuple(Call.from_json(one) for one in values["calls"]),
            ahead_us=values["ahead_us"],
            horizon_us=values["horizon_us"],
            revise_us=values["revise_us"],
            erasure=Erasure(values["erasure"]),
            endless=values["endless"],
        )

    def serves(self, query: Query, life_us: int) -> bool:
        """Tell whether the query's answers follow from these partials as they are."""
        terms = query.terms
        return (
            (self.counts, self.time, self.ahead_us, self.erasure, self.endless) == kind_of(query)
            and self.horizon_us >= terms.back_us(life_us)
            and self.revise_us >= terms.revise_us
            and {one.sql for one in query.groups} <= {one.sql for one in self.groups}
            and set(query.calls) <= set(self.calls)
            and query.where in self.predicates
            and window_of(query) in self.windows
        )


def window_of(query: Query) -> Window:
    """The query's window as slicing sees it: of a window without beginning only the reports cut."""
    terms = query.terms
    return Window(terms.window_us or terms.slide_us, terms.slide_us, terms.offset_us)


@dataclass(frozen=True)
class Assignment:
    """The trees, and which of them serves each query."""

    trees: tuple[Tree, ...]
    tree_of: Mapping[str, str]  # query's name -> tree's name

    def without(self, trees: Collection[str]) -> Assignment:
        """The same without some trees and the queries they serve."""
        kept = {query: tree for query, tree in self.tree_of.items() if tree not in trees}
        return replace(self, trees=tuple(tree for tree in self.trees if tree.name not in trees), tree_of=kept)

    def tree(self, query: str) -> Tree:
        name = self.tree_of[query]
        return next(tree for tree in self.trees if tree.name == name)


@dataclass(frozen=True)
class StoredTrees:
    """Trees whose partials are stored, and which of them each part was answered from."""

    trees: tuple[Tree, ...] = ()
    tree_of: Mapping[str, str] = field(default_factory=dict)  # query's part -> tree's name
    only_for: Mapping[str, Collection[str]] = field(default_factory=dict)  # tree's name -> queries, if not for all

    def serving(self, query: Query, life_us: int) -> Tree | None:
        """The tree that the query had, if it still serves; else any other that does."""
        able = [
            tree
            for tree in self.trees
            if tree.serves(query, life_us) and query.name in self.only_for.get(tree.name, (query.name,))
        ]
        own = self.tree_of.get(query.part)
        return next((tree for tree in able if tree.name == own), able[0] if able else None)


NO_TREES = StoredTrees()
Grouping = Callable[[Sequence[Query]], list[list[Query]]]
"""Queries, in groups that are to share a tree: those of a group must be of one kind (`kind_of`)."""


def by_group_by(queries: Sequence[Query]) -> list[list[Query]]:
    """The rule that needs no figures: queries of one group-by share, others do not.

    Partials by the union of two group-bys can be as many as the records.
    """
    found: dict[tuple[Any, ...], list[Query]] = {}
    for query in queries:
        found.setdefault((kind_of(query), _columns(query)), []).append(query)
    return list(found.values())


def kind_of(query: Query) -> tuple[Any, ...]:
    """Return what queries must have in common to share partials at all.

    Of windows without beginning, all that is older than anybody asks for can be one fragment, so they are a kind.
    """
    terms = query.terms
    return (terms.counts, terms.time, terms.ahead_us, terms.erasure, terms.window_us is None)


def _columns(query: Query) -> frozenset[str]:
    return frozenset(one.sql for one in query.groups)


def assigned(
    queries: Iterable[Query], life_us: int, kept: StoredTrees = NO_TREES, plan: Grouping = by_group_by
) -> Assignment:
    """Trees for queries: one that is kept where it serves, so that nothing is folded twice; for all others, as planned.

    `life_us` is the longest life of a record. Trees that serve nobody are left out.
    """
    tree_of: dict[str, Tree] = {}
    fresh: list[Query] = []
    for query in queries:
        serving = kept.serving(query, life_us)
        if serving is not None:
            tree_of[query.name] = serving
        else:
            fresh.append(query)
    for sharing in plan(fresh) if fresh else ():
        for tree in _trees(sharing, life_us):
            tree_of.update({query.name: tree for query in sharing if query.where in tree.predicates})
    trees = tuple(dict.fromkeys(tree_of.values()))
    return Assignment(trees, {name: tree.name for name, tree in tree_of.items()})


def _trees(queries: Sequence[Query], life_us: int) -> Iterable[Tree]:
    """One tree for these, or several if their predicates are many."""
    for signatures in split_predicates(query.where or EVERY_ROW for query in queries):
        mine = [query for query in queries if query.where in signatures.predicates]
        first = mine[0]
        groups = {one.sql: one for query in mine for one in query.groups}
        yield Tree(
            groups=tuple(sorted(groups.values(), key=lambda one: one.sql)),
            time=first.terms.time,
            counts=first.terms.counts,
            windows=tuple(sorted({window_of(query) for query in mine})),
            predicates=signatures.predicates,
            calls=tuple(sorted({RECORDS, *(call for query in mine for call in query.calls)}, key=str)),
            ahead_us=first.terms.ahead_us,
            horizon_us=max(query.terms.back_us(life_us) for query in mine),
            revise_us=max(query.terms.revise_us for query in mine),
            erasure=first.terms.erasure,
            endless=first.terms.window_us is None,
        )
