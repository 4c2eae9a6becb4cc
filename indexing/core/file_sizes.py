"""Sizes for whoever writes: rows of a data file and of a row group, and the bytes a sub-index will get."""

from __future__ import annotations

from tidewheel.indexing.core.layouts import GROUP_BYTES, GROUP_ROWS, Generation
from tidewheel.indexing.core.plan import Plan
from tidewheel.indexing.core.state import SubIndex, TableState

ROW_BYTES_ASSUMED = 200
ROW_BYTES_DERIVED = 50  # of partials and answers: a few numbers


def rows_per_file(state: TableState, generation: Generation) -> int:
    """Return the rows of a file, by the mean row of the stored files; an empty archive has a guess."""
    assumed = ROW_BYTES_DERIVED if state.definition.derived else ROW_BYTES_ASSUMED
    rows = sum(file.rows for file in state.files)
    row_bytes = sum(file.bytes for file in state.files) / rows if rows else assumed
    return max(1, int(generation.target_file_bytes / row_bytes))


def rows_expected(state: TableState, plan: Plan) -> int:
    """Return the rows that an update will read: the files to rewrite, and batches like the largest one known."""
    batch = max((record.rows_in for record in state.ledger.records.values()), default=0)
    return sum(change.file.rows for change in plan.rewritten) + len(plan.slots) * batch


def rows_per_group(rows_per_file: int, target_bytes: int) -> int:
    """Return the rows of a row group: few, so that a probe reads little; for wide records even fewer.

    >>> rows_per_group(1_000_000, 128 * 1024 * 1024), rows_per_group(1_000, 128 * 1024 * 1024)
    (7813, 8)
    """
    return min(GROUP_ROWS, GROUP_BYTES * rows_per_file // target_bytes + 1)


def expected_sizes(state: TableState, plan: Plan) -> dict[SubIndex, int]:
    """Return the bytes that each sub-index will get, as far as the state tells: to share the work out evenly."""
    sizes: dict[SubIndex, int] = {}
    for change in plan.rewritten:
        sizes[change.file.subindex] = sizes.get(change.file.subindex, 0) + change.file.bytes
    layout = plan.generation.layout
    share = sum(file.bytes for file in state.files) // max(1, layout.span * layout.expiration_classes)
    for g in {layout.row_of(slot) for slot in plan.slots}:
        for e in range(layout.expiration_classes):
            at = (plan.generation.number, g, e)
            sizes[at] = sizes.get(at, 0) + share
    return sizes
