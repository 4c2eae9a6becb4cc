"""The way in which answers are folded from partials: the one that a query names, else kernels, else a join in SQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import duckdb

from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.local.answers.answer_store import Folded
from tidewheel.local.answers.by_kernels import KernelFolder, fits
from tidewheel.local.answers.by_sql import Folder
from tidewheel.local.answers.by_technique import KERNELS, SQL, TechniqueFolder, named_technique
from tidewheel.local.answers.reports import Due
from tidewheel.local.answers.technique_states import KeptStates
from tidewheel.local.partials.memory.tree_rows import TreeRows
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.tree import Tree

PARTIALS = "tw_partials"


def way_of(query: Query) -> str:
    """How a query is folded: `kernels`, `sql`, or a technique's name."""
    technique = named_technique(query)
    if technique is not None:
        return technique.name
    return SQL if query.technique == SQL or not fits(query) else KERNELS


def fold(
    tree: Tree,
    axis: TimeAxis,
    connection: duckdb.DuckDBPyConnection,
    rows: TreeRows,
    queries: Sequence[Query],
    due: Due,
    states: KeptStates | None = None,
) -> Iterator[Folded]:
    """The answers of a tree's queries that have some due, each in its way; techniques go on from kept states."""
    asked = [query for query in queries if due[query.name]]
    ways = {query.name: way_of(query) for query in asked}
    kernels = KernelFolder(tree, axis, connection, rows)
    yield from kernels.fold([query for query in asked if ways[query.name] == KERNELS], due)
    others = [query for query in asked if ways[query.name] != KERNELS]
    if others:
        connection.register(PARTIALS, rows.table)
    for query in others:
        folder, technique = Folder(query, tree, axis, connection, PARTIALS), named_technique(query)
        if technique is not None:
            slid = TechniqueFolder(query, tree, rows.table, kernels.columns, technique)
            called, streams = slid.called(due[query.name], states.of(query, tree.name) if states else None)
            if states:
                states.put(query, tree.name, slid.plan, streams)
            yield Folded.of(query, folder.answered(called))
        else:
            yield Folded.of(query, folder.fold(due[query.name]))
