"""The measures of a stored archive, in the form that the forecast and the advisor take.

The ledger counts rows by cell exactly. A cell's bytes are its rows times the mean row of its sub-index, which the
files say: records of one sub-index lie together in the same files, so no cell has bytes of its own.
"""

from __future__ import annotations

from collections import defaultdict

from tidewheel.indexing.core.layouts import Generation
from tidewheel.indexing.core.state import SubIndex, TableState
from tidewheel.indexing.cost.forecast import Stored
from tidewheel.indexing.cost.workloads import Workload
from tidewheel.indexing.errors import InvalidInput


def cells_with_bytes(state: TableState) -> Stored:
    """Return the rows and bytes of every live cell, by generation."""
    row_bytes = _row_bytes(state)
    stored: dict[Generation, dict[tuple[int, int], tuple[int, int]]] = {state.definition.current: {}}
    for slot, record in state.ledger.records.items():
        generation = state.definition.generation(record.generation)
        own = stored.setdefault(generation, {})
        for expiration, cell in record.cells.items():
            g, e = generation.layout.row_of(slot), generation.layout.column_of(expiration)
            own[slot, expiration] = (cell.rows, round(cell.rows * row_bytes.get((generation.number, g, e), 0)))
    return stored


def workload_of(state: TableState, last: int) -> Workload:
    """Return a workload like the mean of the last slots; for each lifetime, over the slots that can still show it."""
    watermark = state.watermark
    recent = [] if watermark is None else [s for s in state.ledger.records if watermark - last < s <= watermark]
    if watermark is None or not recent:
        raise InvalidInput(f"the last {last} slots hold no live records to learn from", "describe the workload instead")
    rows: dict[int, float] = defaultdict(float)
    for slot in recent:
        for expiration, cell in state.ledger.records[slot].cells.items():
            lifetime = expiration - slot
            rows[lifetime] += cell.rows / min(watermark - min(recent) + 1, lifetime)
    total = sum(rows.values())
    lifetimes = tuple(rows.get(lifetime, 0.0) / total for lifetime in range(max(rows) + 1))
    stored_rows = sum(file.rows for file in state.files)
    row_bytes = sum(file.bytes for file in state.files) / stored_rows
    return Workload(total, total * row_bytes, lifetimes)


def _row_bytes(state: TableState) -> dict[SubIndex, float]:
    """Return the mean bytes of a row by sub-index."""
    return {
        subindex: sum(file.bytes for file in files) / sum(file.rows for file in files)
        for subindex, files in state.by_subindex().items()
    }
