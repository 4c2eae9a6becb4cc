"""How many rows a data file and a row group hold, whoever writes them."""

from __future__ import annotations

from tidewheel.indexing.core.layouts import GROUP_BYTES, GROUP_ROWS, Generation
from tidewheel.indexing.core.state import TableState

ROW_BYTES_ASSUMED = 200


def rows_per_file(state: TableState, generation: Generation) -> int:
    """By the mean row of what is stored; a guess where nothing is."""
    rows = sum(file.rows for file in state.files)
    row_bytes = sum(file.bytes for file in state.files) / rows if rows else ROW_BYTES_ASSUMED
    return max(1, int(generation.target_file_bytes / row_bytes))


def rows_per_group(rows_per_file: int, target_bytes: int) -> int:
    """Row groups are small, so that a probe reads little; of wide records even fewer rows.

    >>> rows_per_group(1_000_000, 128 * 1024 * 1024), rows_per_group(1_000, 128 * 1024 * 1024)
    (7813, 8)
    """
    return min(GROUP_ROWS, GROUP_BYTES * rows_per_file // target_bytes + 1)
