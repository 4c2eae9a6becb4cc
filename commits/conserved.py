"""Nothing lost, doubled or changed: written files are compared with the ledger before they may be committed.

The cells that went in (by the ledger, less what the plan takes out, plus the batch) must be the cells that came out. In
a sub-index where some files stay, that can be told if those hold other insertion slots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from tidewheel.commits.written import Written
from tidewheel.indexing.core.cells import Cell
from tidewheel.indexing.core.plan import Plan
from tidewheel.indexing.core.state import FileFact, SubIndex, TableState
from tidewheel.indexing.errors import Damaged
from tidewheel.indexing.printable import counted

EVERY_SLOT = range(-(1 << 62), 1 << 62)


def check_conserved(
    audit: str,
    state: TableState,
    plan: Plan,
    written: Written,
    forgotten: Mapping[tuple[int, int], Cell] = MappingProxyType({}),
) -> None:
    """Refuse to commit files that lost, doubled or changed a row, wherever the ledger knows the rows of the files read.

    `audit` is the command that names them.
    """
    known = _slots_known(state, plan)
    if not known:
        return  # the ledger knows the rows of none of the files that were rewritten
    for at, expected in _expected_cells(state, plan, known, forgotten).items():
        found = {c: v for c, v in written.cells.get(at, {}).items() if c[0] not in plan.slots}
        if found != expected:
            raise _not_conserved(audit, f"sub-index {at}", found, expected)


def _expected_cells(
    state: TableState,
    plan: Plan,
    known: Mapping[SubIndex, range],
    forgotten: Mapping[tuple[int, int], Cell],
) -> dict[SubIndex, dict[tuple[int, int], Cell]]:
    """Return the ledger's cells that must come out of each sub-index, for the insertion slots known there."""
    expected: dict[SubIndex, dict[tuple[int, int], Cell]] = {at: {} for at in known}
    for slot, record in state.ledger.records.items():
        if slot in plan.slots:
            continue
        layout = state.definition.generation(record.generation).layout
        row = layout.row_of(slot)
        for expiration, cell in record.cells.items():
            at = (record.generation, row, layout.column_of(expiration))
            if slot in known.get(at, ()) and (plan.watermark is None or expiration > plan.watermark):
                gone = forgotten.get((slot, expiration))
                left = cell if gone is None else cell.minus(gone)
                if left.rows:
                    expected[at][(slot, expiration)] = left
    return expected


def _slots_known(state: TableState, plan: Plan) -> dict[SubIndex, range]:
    """Return, by sub-index with rewritten files, the insertion slots whose records all were in files that leave.

    These are all slots if no file stays; else those of the rewritten files, unless a file that stays has one of them
    too.
    """
    rewritten = {change.file.path for change in plan.rewritten}
    going = rewritten | {change.file.path for change in plan.dropped}
    groups = state.by_subindex()
    known = {}
    for at in {change.file.subindex for change in plan.rewritten}:
        read = [file for file in groups[at] if file.path in rewritten]
        slots = _slots_of(read)
        staying = [file for file in groups[at] if file.path not in going]
        if not staying:
            known[at] = EVERY_SLOT
        elif not _reach(staying, slots):
            known[at] = slots
    return known


def _slots_of(files: Sequence[FileFact]) -> range:
    return range(min(file.ins_min for file in files), max(file.ins_max for file in files) + 1)


def _reach(files: Sequence[FileFact], slots: range) -> bool:
    """Tell whether a file may hold rows of one of the slots."""
    return any(file.ins_min < slots.stop and slots.start <= file.ins_max for file in files)


def check_all_conserved(audit: str, state: TableState, written: Written) -> None:
    """Check a move of everything in the same way: all live cells go in, and come out."""
    found: dict[tuple[int, int], Cell] = {}
    for cells in written.cells.values():
        for at, cell in cells.items():
            found[at] = found[at].plus(cell) if at in found else cell
    expected = state.ledger.cells()
    if found != expected:
        raise _not_conserved(audit, "the archive", found, expected)


def _not_conserved(
    audit: str, what: str, found: Mapping[tuple[int, int], Cell], expected: Mapping[tuple[int, int], Cell]
) -> Damaged:
    wrong = sorted(at for at in found.keys() | expected.keys() if found.get(at) != expected.get(at))
    return Damaged(
        f"{what} does not hold what the ledger says: {counted(len(wrong), 'cell')} off, the first is "
        f"(insertion slot {wrong[0][0]}, expiration slot {wrong[0][1]}). Nothing was changed",
        f"name the cells and files: {audit}",
        cells=wrong,
    )
