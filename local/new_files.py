"""Rows in memory into an attempt's files: each to its sub-index under the plan's generation, sorted by the key."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from tidewheel.commits.procedure import Try
from tidewheel.indexing.core.file_sizes import rows_per_file
from tidewheel.indexing.core.plan import Plan
from tidewheel.local.files import Shape, SortedFiles


def write_rows(one: Try, plan: Plan, rows: pa.Table, folder: str) -> None:
    """Write rows, complete with the columns that an archive adds, as one run of files for each sub-index."""
    definition, generation = one.state.definition, plan.generation
    layout, target = generation.layout, generation.target_file_bytes
    for name, slots, place in (("g", "ins_slot", layout.row_of), ("e", "exp_slot", layout.column_of)):
        distinct = pc.unique(rows.column(slots))
        numbers = pa.array([place(slot) for slot in distinct.to_pylist()], pa.int32())
        rows = rows.append_column(name, numbers.take(pc.index_in(rows.column(slots), distinct)))
    order = [(name, "ascending") for name in ("g", "e", *definition.key, "valid_until")]
    rows = rows.take(pc.sort_indices(rows, sort_keys=order)).combine_chunks()
    schema = rows.schema.remove(rows.schema.get_field_index("e")).remove(rows.schema.get_field_index("g"))
    shape = Shape(schema, definition.key[0], rows_per_file(one.state, generation), target)
    with SortedFiles(one.job.location, folder, shape) as files:
        for start, length, g, e in _runs(rows, layout.expiration_classes):
            for batch in rows.slice(start, length).select(schema.names).combine_chunks().to_batches():
                files.add((generation.number, g, e), batch)


def _runs(rows: pa.Table, classes: int) -> list[tuple[int, int, int, int]]:
    """Where each sub-index begins, how many rows it has, and which it is."""
    if not rows.num_rows:
        return []
    numbers = pc.add(pc.multiply(rows.column("g").cast(pa.int64()), classes), rows.column("e").cast(pa.int64()))
    runs = pc.run_end_encode(numbers.combine_chunks())
    found, start = [], 0
    for end, number in zip(runs.run_ends.to_pylist(), runs.values.to_pylist(), strict=True):
        found.append((start, end - start, *divmod(number, classes)))
        start = end
    return found
