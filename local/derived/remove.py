"""Rows leave a derived archive for good: those of forgotten keys, in the commit of the batches that come, and those of
parts that nobody asks for any more.

The files that hold such rows are rewritten without them. The receipt says by slot and part what went.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidewheel.commits.accounting import receipt_of
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.attempt import attempt
from tidewheel.commits.conserved import check_conserved
from tidewheel.commits.fail_points import reach
from tidewheel.commits.operations.put import alive_cells, gone_by_cell
from tidewheel.commits.procedure import Lap, Procedure, Try
from tidewheel.commits.work import Work
from tidewheel.commits.written import CELL_COLUMNS, NOTHING_WRITTEN, check_sizes, counted_by, read_back
from tidewheel.indexing.core.batch_map import BatchKey
from tidewheel.indexing.core.cells import Cell, Cells
from tidewheel.indexing.core.ledger import Ledger, cells_by_slot
from tidewheel.indexing.core.plan import FileChange, Plan
from tidewheel.indexing.core.plan_kinds import plan_nothing
from tidewheel.indexing.core.receipts import Deed, Receipt
from tidewheel.indexing.core.state import FileFact
from tidewheel.local.derived.put import PART, value_columns
from tidewheel.local.keys import Truths
from tidewheel.local.rows import file_schema, rows_of
from tidewheel.local.side_by_side import side_by_side
from tidewheel.local.thinned_files import going_of, write_thinned
from tidewheel.storage.ledger_store import ledger_of

Hits = Callable[[pa.Table], pa.Array]  # of a file's rows, which ones go

PartCells = Mapping[tuple[str, int, int], Cell]  # by part and cell


@dataclass(frozen=True)
class Leaving:
    """Rows that leave: told by some columns."""

    columns: Sequence[str]  # that `hits` reads
    hits: Hits

    def found(self, one: Try) -> tuple[dict[str, Truths], dict[BatchKey, dict[int, Cell]]]:
        """The rows that go of each file that has any, and their cells by batch. Cost: the columns of all files."""
        going: dict[str, Truths] = {}
        gone: dict[BatchKey, dict[int, Cell]] = {}
        files = one.state.files
        for file, hit in zip(files, side_by_side(partial(self._found, one), files), strict=True):
            if hit is None:
                continue
            going[file.path], cells = hit
            for (part, slot, expiration), cell in cells.items():
                mine = gone.setdefault((slot, part), {})
                mine[expiration] = mine[expiration].plus(cell) if expiration in mine else cell
        return going, gone

    def _found(self, one: Try, file: FileFact) -> tuple[Truths, PartCells] | None:
        """The rows of a file that go, and their cells; None if all stay."""
        schema = file_schema(one.snapshot)
        data = rows_of(one.job.location, [file], schema)
        hit = self.hits(data.to_table(columns=[name for name in self.columns if name in schema.names]))
        if not pc.any(hit).as_py():
            return None
        rows = data.to_table(columns=[PART, *CELL_COLUMNS]).filter(hit)
        return np.asarray(hit), counted_by(rows, (PART, "ins_slot", "exp_slot"))


def remove_parts(job: ArchiveJob, kept: frozenset[str]) -> tuple[str, ...]:
    """Remove all rows of parts other than these, as if they had never been; gives the parts that were there."""
    gone = parts_beside(ledger_of(job.snapshot()), kept)
    if gone:
        names = pa.array(sorted(kept), pa.string())
        attempt(job, _Remove(Leaving((PART,), lambda rows: pc.invert(pc.is_in(rows.column(PART), names))), kept))
    return gone


def parts_beside(ledger: Ledger, kept: frozenset[str]) -> tuple[str, ...]:
    """The parts that a ledger knows, but for these."""
    return tuple(sorted(_parts_of(ledger) - kept))


def _parts_of(ledger: Ledger) -> set[str]:
    """The parts that a ledger knows."""
    return {*ledger.applied_parts, *(part for _, part in ledger.batches if part)}


@dataclass
class _Remove(Procedure):
    leaving: Leaving
    kept: frozenset[str]
    going: dict[str, Truths] = field(default_factory=dict)  # by file, which of its rows go
    gone: dict[BatchKey, Cells] = field(default_factory=dict)

    def plan(self, one: Try) -> Plan:
        self.going, self.gone = {}, {}
        if parts_beside(one.state.ledger, self.kept):
            self.going, gone = self.leaving.found(one)
            self.gone = alive_cells(gone, one.state.watermark)
        changes = (FileChange(file, "holds rows that go") for file in one.state.files if file.path in self.going)
        return replace(plan_nothing(one.state, Deed.FORGET), rewritten=tuple(changes))

    def is_needed(self, one: Try, plan: Plan) -> bool:
        return bool(parts_beside(one.state.ledger, self.kept))

    def work(self, one: Try, plan: Plan, folder: str, lap: Lap) -> Work:
        if not plan.rewritten:
            return Work(plan, folder, NOTHING_WRITTEN)
        check_sizes(one.job.location, [change.file for change in plan.rewritten])
        write_thinned(one, plan, folder, going_of(self.going), value_columns(file_schema(one.snapshot)))
        written = read_back(one.job.location, folder, one.state.definition)
        reach("files_written")
        check_conserved(one.job.command("audit"), one.state, plan, written, gone_by_cell(self.gone))
        lap("write")
        return Work(plan, folder, written, rows_read=sum(change.file.rows for change in plan.rewritten))

    def receipt(self, one: Try, plan: Plan, work: Work, timings_ms: Mapping[str, int]) -> Receipt:
        return replace(
            receipt_of(one.job, one.state, plan, work, one.attempt, timings_ms),
            forgotten=cells_by_slot(self.gone),
            forgotten_parts=tuple(sorted(self.gone.items(), key=lambda one: one[0])),
            parts_dropped=parts_beside(one.state.ledger, self.kept),
        )
