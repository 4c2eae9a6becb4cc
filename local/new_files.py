"""Rows in memory into an attempt's files: each to its sub-index under the plan's generation, sorted by the key.

Sub-indexes are written side by side, each by itself: encoding and compressing takes longest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidewheel.commits.procedure import Try
from tidewheel.indexing.core.plan import Plan
from tidewheel.local.files import Shape, SortedFiles
from tidewheel.local.side_by_side import side_by_side
from tidewheel.queries.kernels.arrays import Whole, int64s


def write_rows(one: Try, plan: Plan, rows: pa.Table, folder: str, plain: Collection[str] = ()) -> None:
    """Write rows, complete with the columns that an archive adds, as one run of files for each sub-index."""
    if not rows.num_rows:
        return
    definition, generation = one.state.definition, plan.generation
    layout, shape = generation.layout, Shape.of(one.state, generation, rows.schema, plain)
    rows = rows.combine_chunks()
    g = _placed(rows.column("ins_slot"), layout.row_of)
    e = _placed(rows.column("exp_slot"), layout.column_of)
    numbers = pc.add(pc.multiply(g, layout.expiration_classes), e)
    order = stable_order([numbers, *(rows.column(name) for name in (*definition.key, "valid_until"))])
    numbers = int64s(numbers)[order]

    def write(places: Whole, number: int) -> None:
        with SortedFiles(one.job.location, folder, shape) as files:
            for batch in rows.take(pa.array(places)).combine_chunks().to_batches():
                files.add((generation.number, *divmod(number, layout.expiration_classes)), batch)

    begins = np.flatnonzero(np.diff(numbers, prepend=-1))
    side_by_side(lambda run: write(*run), zip(np.split(order, begins[1:]), numbers[begins].tolist(), strict=True))


def stable_order(columns: Sequence[Any]) -> Whole:
    """The places of rows in the order of some columns. Equal rows that come one after the other are sorted as one."""
    rows = len(columns[0])
    is_other = [pc.fill_null(pc.not_equal(one.slice(1), one.slice(0, rows - 1)), True) for one in columns]
    begins = np.flatnonzero(np.append(True, reduce(pc.or_, is_other)))
    heads = pa.table({str(place): one.take(pa.array(begins)) for place, one in enumerate(columns)})
    order = int64s(pc.sort_indices(heads, sort_keys=[(name, "ascending") for name in heads.column_names]))
    starts, lengths = begins[order], np.diff(begins, append=rows)[order]
    places: Whole = np.arange(rows) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    return places


def _placed(slots: pa.ChunkedArray, place: Callable[[int], int]) -> pa.ChunkedArray:
    """The row or the column of the layout for each slot."""
    distinct = pc.unique(slots)
    numbers = pa.array([place(slot) for slot in distinct.to_pylist()], pa.int64())
    return numbers.take(pc.index_in(slots, distinct))
