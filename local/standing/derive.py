"""The definitions of partials and answers: what they are derived by, and how far back they look."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from deltalake.exceptions import CommitFailedError

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.attempt import Outcome
from tidewheel.commits.operations.observe import observe
from tidewheel.indexing.core.definition import Definition
from tidewheel.indexing.core.derivation import ANSWERS, PARTIALS, Derivation
from tidewheel.indexing.errors import InvalidInput
from tidewheel.local.answers.owed_slots import owed_of, with_owed, without_owed
from tidewheel.local.derived.neighbours import derived_by, derived_job, is_there
from tidewheel.local.derived.put import create_derived, definition_of, redefine
from tidewheel.local.partials.stored_columns import (
    ANSWER_COLUMNS,
    ANSWER_KEY,
    PARTIAL_COLUMNS,
    PARTIAL_KEY,
    answer_columns,
    delta_columns,
    partial_columns,
)
from tidewheel.local.partials.stored_trees import kept_trees
from tidewheel.local.standing.stored_queries import queries_in, says_the_same, with_queries
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.tree import Assignment, Grouping, assigned
from tidewheel.storage.ledger_store import ledger_of


@dataclass(frozen=True)
class Derived:
    """The definitions of partials and answers as their archives hold them."""

    asked: tuple[Query, ...]
    assignment: Assignment
    source: Definition
    horizon: int
    young: int
    trees: str
    queries: str

    def is_told(self, job: ArchiveJob, queries: Sequence[Query]) -> bool:
        """Tell whether the archives still say so of these queries. Cost: nothing for an archive that is open."""
        snapshot = job.snapshot()
        if tuple(queries) != self.asked or snapshot.definition != self.source:
            return False
        told = (("partials", self.trees, self.horizon), ("answers", self.queries, self.young))
        return ledger_of(snapshot).horizon == self.horizon and all(
            _says(derived_job(job, kind), by, horizon) for kind, by, horizon in told
        )


def _says(job: ArchiveJob, by: str, horizon: int) -> bool:
    if not is_there(job):
        return False
    snapshot = job.snapshot()
    return without_owed(snapshot.definition.derived) == by and ledger_of(snapshot).horizon == horizon


def derive(
    job: ArchiveJob,
    queries: Sequence[Query],
    plan: Grouping,
    only_for: Mapping[str, Collection[str]] = MappingProxyType({}),
    files: str = "",
) -> Derived:
    """The archive is observed, both derived archives are there, and say what they are derived by.

    `only_for` names trees that serve no other queries than these any more; `files` is the digest of the query files.
    """
    snapshot = job.snapshot()
    source = snapshot.definition
    partials, answers = derived_job(job, "partials"), derived_job(job, "answers")
    assignment = assigned(queries, source.max_lifetime_us, replace(kept_trees(partials), only_for=only_for), plan)
    horizon = slots_observed(source, assignment)
    if ledger_of(snapshot).horizon != horizon:
        observe(job, horizon)
    lives_us = max((tree.life_us(source.max_lifetime_us) for tree in assignment.trees), default=0)
    trees = Derivation(
        PARTIALS,
        (job.location.uri,),
        parts=tuple(tree.name for tree in assignment.trees),
        slots_alive=_slots(source, lives_us),
        content={
            "trees": [tree.to_json() for tree in assignment.trees],
            "tree_of": {query.part: assignment.tree_of[query.name] for query in queries},
        },
    )
    by_trees = _define(
        partials,
        definition_of(source, PARTIALS, PARTIAL_KEY, trees.to_text()),
        horizon,
        _partial_schema(assignment),
    )
    kept = _slots(source, max((query.terms.keep_us for query in queries), default=0))
    asked = Derivation(ANSWERS, (job.location.uri,), slots_alive=kept, content=with_queries({}, queries, files))
    # Answers are compared as long as they are corrected.
    young = _slots(source, max((query.terms.revise_us for query in queries), default=0))
    by_queries = _define(
        answers, definition_of(source, ANSWERS, ANSWER_KEY, asked.to_text()), young, _answer_schema(queries)
    )
    return Derived(tuple(queries), assignment, source, horizon, young, by_trees, by_queries)


def observe_for(job: ArchiveJob, queries: Sequence[Query]) -> None:
    """Let an archive that nobody asked yet keep unstored records for these queries, from its next batch on."""
    snapshot = job.snapshot()
    source = snapshot.definition
    if queries and not ledger_of(snapshot).horizon:
        observe(job, slots_observed(source, assigned(queries, source.max_lifetime_us)))


def slots_observed(source: Definition, assignment: Assignment) -> int:
    """How far back batches must be told of: as long as windows ask for them, or rows of these trees are alive."""
    life_us = source.max_lifetime_us
    reaches = (max(tree.horizon_us + tree.ahead_us, tree.life_us(life_us)) for tree in assignment.trees)
    return _slots(source, max(reaches, default=0))


def _define(job: ArchiveJob, wanted: Definition, horizon: int, columns: Sequence[tuple[str, str]]) -> str:
    """From now on an archive is derived by that; how it says so."""
    if not _create(job, wanted, horizon, columns):
        snapshot = job.snapshot()
        known = {column.name for column in snapshot.columns}
        with derived_by(job) as derived:
            says = says_the_same(without_owed(derived), wanted.derived)
        if not says or not {name for name, _ in columns} <= known or ledger_of(snapshot).horizon != horizon:
            redefine(job, partial(_still_owing, wanted.derived), delta_columns(columns), horizon)
    stored = without_owed(job.snapshot().definition.derived)
    return stored if says_the_same(stored, wanted.derived) else wanted.derived  # else somebody says otherwise by now


def _create(job: ArchiveJob, wanted: Definition, horizon: int, columns: Sequence[tuple[str, str]]) -> bool:
    """Make the archive; False if it is there."""
    if is_there(job):
        return False
    try:
        create_derived(job, delta_columns(columns), wanted, horizon)
    except (CommitFailedError, InvalidInput):
        if not is_there(job):
            raise  # else another refresh was first
        return False
    return True


def _still_owing(wanted: str, before: str) -> str:
    """A definition that owes to the queries it asks still what was owed to them before."""
    parts = [query.part for query in queries_in(wanted)]
    owed = owed_of(before, parts)
    return with_owed(wanted, parts, owed) if owed else wanted


def tell_owed(answers: ArchiveJob, parts: Collection[str], owed: Mapping[str, int]) -> Outcome | None:
    """From now on the answers owe this to these parts; nothing is done if they do already."""
    snapshot = answers.snapshot()
    if owed_of(snapshot.definition.derived, parts) == owed:
        return None
    horizon = ledger_of(snapshot).horizon
    return redefine(answers, lambda before: with_owed(before, parts, owed), (), horizon)


def _slots(source: Definition, duration_us: int) -> int:
    """So long a time in whole slots, with those at its ends; where nobody asks, none."""
    return duration_us and -(-duration_us // source.axis.interval_us) + 2


def _partial_schema(assignment: Assignment) -> list[tuple[str, str]]:
    columns = list(PARTIAL_COLUMNS.items())
    for tree in assignment.trees:
        with suppress(InvalidInput):  # of what this program cannot fold: its columns are there, if any are
            columns += partial_columns(tree).values()
    return columns


def _answer_schema(queries: Sequence[Query]) -> list[tuple[str, str]]:
    columns = list(ANSWER_COLUMNS.items())
    for query in queries:
        with suppress(InvalidInput):
            columns += answer_columns(query).values()
    return columns
