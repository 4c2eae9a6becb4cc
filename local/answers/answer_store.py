"""Answers of several queries in one table, under the columns that the answers archive has for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidewheel.local.derived.put import PART
from tidewheel.local.partials.stored_columns import answer_columns
from tidewheel.queries.kernels.arrays import Whole, int64s
from tidewheel.queries.standing.query import Query
from tidewheel.queries.standing.staleness import DueAnswers


@dataclass(frozen=True)
class Folded:
    """window_start, window_end (microseconds), groups and outputs as they are stored, rows, complete; and of each row,
    which of the queries it answers."""

    queries: Sequence[Query]
    of_query: Whole
    rows: pa.Table

    @staticmethod
    def of(query: Query, answers: pa.Table) -> Folded:
        """The answers of one query, whose columns have its own names."""
        names = {name: stored for name, (stored, _) in answer_columns(query).items()}
        rows = answers.rename_columns([names.get(name, name) for name in answers.column_names])
        return Folded([query], np.zeros(answers.num_rows, np.int64), rows)


def stored_answers(
    folded: Iterable[Folded],
    due: Mapping[str, Sequence[DueAnswers]],
    source_version: int,
    slot_last: int,
) -> pa.Table:
    """Answers of some queries as they are stored; `due` by part, `slot_last` is the archive's newest slot by now."""
    found, queries, numbers = list(folded), list[Query](), list[Whole]()
    for one in found:
        numbers.append(one.of_query + len(queries))
        queries += one.queries
    rows = pa.concat_tables([one.rows for one in found], promote_options="permissive")
    of_query, ends = np.concatenate(numbers), int64s(rows.column("window_end"))
    slots, revisions = _slots_and_revisions(of_query, ends, [due[query.part] for query in queries])
    keeps = np.array([query.terms.keep_us for query in queries], np.int64)[of_query]
    for name in ("window_start", "window_end"):
        moments = rows.column(name).cast(pa.timestamp("us", "UTC"))
        rows = rows.set_column(rows.schema.get_field_index(name), name, moments)
    more = {
        "revision": pa.array(revisions, pa.int32()),
        "source_version": pa.repeat(pa.scalar(source_version, pa.int64()), rows.num_rows),
        "slots_late": pa.array(np.maximum(slot_last - slots, 0), pa.int32()),
        "ins_slot": pa.array(slots),
        PART: pa.array([query.part for query in queries]).take(pa.array(of_query)),
        "valid_until": pa.array(ends + keeps).cast(pa.timestamp("us", "UTC")),
    }
    return pa.Table.from_arrays([*rows.columns, *more.values()], names=[*rows.column_names, *more])


def _slots_and_revisions(of_query: Whole, ends: Whole, due: Sequence[Sequence[DueAnswers]]) -> tuple[Whole, Whole]:
    """The slot of each row's report, and how often that report was given before."""
    told = [
        (number, report.at_us, one.slot, one.revision)
        for number, some in enumerate(due)
        for one in some
        for report in one.reports
    ]
    number, at, slots, revisions = (np.array(values, np.int64) for values in zip(*told, strict=True))
    moments = np.unique(at)
    keys = number * len(moments) + np.searchsorted(moments, at)
    order = np.argsort(keys, kind="stable")
    places = order[np.searchsorted(keys[order], of_query * len(moments) + np.searchsorted(moments, ends))]
    return slots[places], revisions[places]
