"""Queries as their files say them, against the archive's columns and slots: understood, or refused with every fault.

Compiling takes milliseconds for each query, so a text that was compiled before is not compiled again: queries are known
by the digest of their text and of all that it was compiled against (`basis_of`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

import duckdb

from tidewheel.commits.accounting import PROGRAM
from tidewheel.indexing.durations import duration_text
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.toml.page import Fault, faulty
from tidewheel.local.answers.by_technique import named_technique
from tidewheel.local.partials.distinct_sketches import installed
from tidewheel.local.partials.stored_columns import partial_columns
from tidewheel.local.partials.stored_types import stored_type
from tidewheel.queries.standing.query import Query, QueryText
from tidewheel.queries.standing.query_fields import REFERENCE
from tidewheel.queries.standing.query_file import misfits
from tidewheel.queries.standing.tree import assigned
from tidewheel.sql.engine.column_types import duckdb_type
from tidewheel.sql.statements.select_parser import SelectParser
from tidewheel.sql.statements.selects import read_query, settled
from tidewheel.storage.snapshot import Snapshot

MOMENT = "TIMESTAMP WITH TIME ZONE"
_MOMENTS = ("TIMESTAMPTZ", MOMENT)


@dataclass(frozen=True)
class Understood:
    """The queries that can be answered; what is wrong with the others, and how these are named, as far as they say."""

    queries: tuple[Query, ...]
    faults: tuple[Fault, ...] = ()
    at_fault: frozenset[str] = frozenset()
    some_unnamed: bool = False
    files: str = ""  # the digest of the query files, if nothing is wrong with any

    @property
    def wrong(self) -> InvalidInput | None:
        return self.wrong_so("nothing was changed")

    def sound(self) -> list[Query]:
        """The queries, if nothing is wrong with any."""
        if self.wrong:
            raise self.wrong
        return list(self.queries)

    def wrong_so(self, so: str) -> InvalidInput | None:
        """All faults in one error, and what became of it."""
        files = sorted({fault.file_name for fault in self.faults})
        return faulty(", ".join(files), self.faults, REFERENCE, so) if files else None

    def as_before(self, stored: Iterable[Query]) -> list[Query]:
        """The queries answered so far that cannot be understood just now; they stay what they were."""
        good = {query.name for query in self.queries}
        return [one for one in stored if one.name not in good and (self.some_unnamed or one.name in self.at_fault)]


def understood(
    texts: Sequence[QueryText],
    snapshot: Snapshot,
    inserted_at: str = "",
    known: Mapping[str, Query] = MappingProxyType({}),
) -> Understood:
    """The queries, typed; `inserted_at` is the column that places a record in time where the query names none.

    `known` has queries that were compiled before, by the digests of their texts.
    """
    compiler = _Compiler(snapshot, inserted_at)
    faults: list[Fault] = []
    queries = []
    names, some_unnamed = set(), False
    for text in texts:
        query, mine = compiler.compiled(text, known)
        faults += mine
        names |= {text.name} if mine else set()
        some_unnamed |= bool(mine) and not text.is_named  # the name may be what is wrong
        queries += [query] if query and not mine else []
    return Understood(tuple(queries), tuple(faults), frozenset(names), some_unnamed)


def basis_of(snapshot: Snapshot) -> str:
    """All that decides what a text means, but for the text: the archive's columns and slots, and the programs."""
    definition = snapshot.definition
    axis = definition.axis
    told = [_columns_of(snapshot), axis.interval_us, axis.epoch_us, definition.max_lifetime_us, PROGRAM]
    return json.dumps([*told, duckdb.__version__, installed() is not None])


def _columns_of(snapshot: Snapshot) -> dict[str, str]:
    return {column.name: str(duckdb_type(column.type)) for column in snapshot.columns}


@dataclass(frozen=True)
class _Compiler:
    """Compiles texts against one version of an archive."""

    snapshot: Snapshot
    inserted_at: str

    @cached_property
    def columns(self) -> dict[str, str]:
        return _columns_of(self.snapshot)

    @cached_property
    def basis(self) -> str:
        return basis_of(self.snapshot)

    @cached_property
    def parser(self) -> SelectParser:
        return SelectParser(self.columns, sketches=installed())

    def compiled(self, text: QueryText, known: Mapping[str, Query]) -> tuple[Query | None, list[Fault]]:
        """The query, and all that is wrong with its text."""
        default = self.inserted_at if self.columns.get(self.inserted_at) in _MOMENTS else ""
        terms = replace(text.terms, time=text.terms.time or default)
        axis = self.snapshot.definition.axis
        asked = settled(replace(text, terms=terms), axis.interval_us, axis.epoch_us)
        digest = asked.digest(self.basis)
        if digest in known and not text.faults:
            return known[digest], []
        query, wrong = read_query(self.parser, asked) if text.select else (None, [])
        if query is None or text.faults:
            return None, [*text.faults, *wrong]
        return replace(query, text=digest), list(_misfits(query, text, self.columns, self.snapshot))


def _not_kept(query: Query) -> Iterator[tuple[str, str, str]]:
    """Groups and outputs that cannot be kept in the answers: the key, what is wrong, what to do."""
    for key, some in (("group_by", query.groups), ("select", query.outputs)):
        for one in some:
            try:
                stored_type(one.sql_type)
            except InvalidInput as error:
                yield key, f"{one.name}: {error.message}", error.remedy


def _misfits(query: Query, text: QueryText, columns: Mapping[str, str], snapshot: Snapshot) -> Iterator[Fault]:
    """The clauses of a readable query that do not fit the archive."""
    axis = snapshot.definition.axis
    for one in misfits(query.terms, axis):
        yield text.fault(one.key, one.wrong, one.remedy)
    if query.terms.keep_us < axis.interval_us:
        yield text.fault("keep", "shorter than the archive's interval", f"give {duration_text(axis.interval_us)}")
    if text.terms.time and columns.get(text.terms.time) not in _MOMENTS:
        moments = ", ".join(name for name, kind in columns.items() if kind in _MOMENTS) or "none"
        yield text.fault("time", "not a timestamp column of the archive", f"it has {moments}")
    try:
        named_technique(query)
    except InvalidInput as error:
        yield text.fault("technique", error.message, error.remedy)
    unkept = list(_not_kept(query))
    yield from (text.fault(*one) for one in unkept)
    if unkept:
        return
    try:
        for tree in assigned([query], snapshot.definition.max_lifetime_us).trees:
            partial_columns(tree)
            _ = tree.slices
    except InvalidInput as error:
        yield text.fault("select", error.message, error.remedy)
