"""The reports that some queries are asked for, as arrays: what they need is taken for all of them at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tidewheel.queries.kernels.arrays import Real, Whole
from tidewheel.queries.standing.query import Call, Counts, Query
from tidewheel.queries.standing.staleness import DueReport
from tidewheel.queries.standing.tree import Tree

FIRST = -(1 << 62)  # before every fragment: of windows without beginning
Due = Mapping[str, Sequence[DueReport]]  # by the query's name
# A window by its first fragment, its end, and the report where only the living count; and its place among others.
Windows = dict[tuple[int, int, int], int]
Outputs = tuple[Call, ...]


@dataclass(frozen=True)
class AskedReports:
    """An entry for each report of each query: which of the queries it is of, and the place of its window.

    `outputs` are the calls that each query's outputs are; of queries whose answers are more than their calls, none.
    """

    queries: Sequence[Query]
    outputs: Sequence[Outputs]
    of_query: Whole
    at_us: Whole
    complete: Real
    places: Whole


def asked_reports(
    tree: Tree, queries: Sequence[Query], outputs: Sequence[Outputs], due: Due, windows: Windows
) -> AskedReports:
    """The reports of some queries of a tree; windows that nobody asked for yet are added to those known."""
    number_of, is_live = tree.slices.number_of, tree.counts is Counts.LIVE
    places = []
    for query in queries:
        window_us = query.terms.window_us
        for one in due[query.name]:
            first = FIRST if window_us is None else number_of(one.at_us - window_us)
            window = first, number_of(one.at_us), one.at_us if is_live else 0
            places.append(windows.setdefault(window, len(windows)))
    reports = [one for query in queries for one in due[query.name]]
    return AskedReports(
        queries,
        outputs,
        np.repeat(np.arange(len(queries)), [len(due[query.name]) for query in queries]),
        np.array([one.at_us for one in reports], np.int64),
        np.array([one.complete for one in reports], np.float64),
        np.array(places, np.int64),
    )
