"""Rows leave a derived archive for good: those of forgotten keys, and those of parts that nobody asks for any more.

The files that hold such rows are rewritten without them, in one commit, whose receipt says by slot and part what went.
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
from tidewheel.commits.attempt import Outcome, attempt
from tidewheel.commits.conserved import check_conserved
from tidewheel.commits.fail_points import reach
from tidewheel.commits.procedure import Lap, Procedure, Try
from tidewheel.commits.work import Work
from tidewheel.commits.written import CELL_COLUMNS, NOTHING_WRITTEN, check_sizes, counted_by, read_back
from tidewheel.indexing.core.cells import Cell, Cells
from tidewheel.indexing.core.ledger import Ledger
from tidewheel.indexing.core.plan import FileChange, Plan
from tidewheel.indexing.core.plan_kinds import plan_nothing
from tidewheel.indexing.core.receipts import BatchKey, Deed, Receipt, Tombstone
from tidewheel.indexing.core.state import FileFact
from tidewheel.local.keys import Truths
from tidewheel.local.rows import file_schema, rows_of
from tidewheel.local.side_by_side import side_by_side
from tidewheel.local.standing.columns import value_columns
from tidewheel.local.standing.derived import PART
from tidewheel.local.thinned_files import write_thinned
from tidewheel.storage.ledger_store import ledger_of

Hits = Callable[[pa.Table], pa.Array]  # of a file's rows, which ones go
PartCells = Mapping[tuple[str, int, int], Cell]  # by part and cell


def remove_keys(
    job: ArchiveJob, columns: Sequence[str], hits: Hits, tombstones: tuple[Tombstone, ...], young: int
) -> Outcome:
    """Remove rows of forgotten keys, told by some columns; nothing is done if the archive has met the tombstones.

    What is left of slots from `young` on is about to be replaced.
    """
    return attempt(job, _Remove(columns, hits, tombstones, young=young))


def remove_parts(job: ArchiveJob, kept: frozenset[str]) -> tuple[str, ...]:
    """Remove all rows of parts other than these, as if they had never been; gives the parts that were there."""
    gone = parts_beside(ledger_of(job.snapshot()), kept)
    if gone:
        names = pa.array(sorted(kept), pa.string())
        attempt(job, _Remove((PART,), lambda rows: pc.invert(pc.is_in(rows.column(PART), names)), (), kept))
    return gone


def parts_beside(ledger: Ledger, kept: frozenset[str]) -> tuple[str, ...]:
    """The parts that a ledger knows, but for these."""
    return tuple(sorted(_parts_of(ledger) - kept))


def _parts_of(ledger: Ledger) -> set[str]:
    """The parts that a ledger knows."""
    return {*ledger.applied_parts, *(part for _, part in ledger.batches if part)}


@dataclass
class _Remove(Procedure):
    columns: Sequence[str]  # that `hits` reads
    hits: Hits
    tombstones: tuple[Tombstone, ...]
    parts_kept: frozenset[str] | None = None
    young: int | None = None
    going: dict[str, Truths] = field(default_factory=dict)  # by file, which of its rows go
    gone: dict[BatchKey, dict[int, Cell]] = field(default_factory=dict)

    def plan(self, one: Try) -> Plan:
        self.going, self.gone = {}, {}
        files = one.state.files if self.is_needed(one) else ()
        for file, found in zip(files, side_by_side(partial(self._found, one), files), strict=True):
            if found is not None:
                self.going[file.path], cells = found
                self._count(cells, one.state.watermark)
        changes = (FileChange(file, "holds rows that go") for file in one.state.files if file.path in self.going)
        return replace(plan_nothing(one.state, Deed.FORGET), rewritten=tuple(changes), tombstones=self.tombstones)

    def _found(self, one: Try, file: FileFact) -> tuple[Truths, PartCells] | None:
        """Which rows of a file go, and their cells; None if all stay."""
        schema = file_schema(one.snapshot)
        data = rows_of(one.job.location, [file], schema)
        hit = self.hits(data.to_table(columns=[name for name in self.columns if name in schema.names]))
        if not pc.any(hit).as_py():
            return None
        rows = data.to_table(columns=[PART, *CELL_COLUMNS]).filter(hit)
        return np.asarray(hit), counted_by(rows, (PART, "ins_slot", "exp_slot"))

    def is_needed(self, one: Try, plan: Plan | None = None) -> bool:
        new = set(self.tombstones) - set(one.state.ledger.tombstones)
        return bool(new or self._dropped(one))

    def work(self, one: Try, plan: Plan, folder: str, lap: Lap) -> Work:
        if not plan.rewritten:
            return Work(plan, folder, NOTHING_WRITTEN)
        check_sizes(one.job.location, [change.file for change in plan.rewritten])
        write_thinned(one, plan, folder, self._going, self.young, value_columns(file_schema(one.snapshot)))
        written = read_back(one.job.location, folder, one.state.definition)
        reach("files_written")
        check_conserved(one.job.command("audit"), one.state, plan, written, self._gone_by_cell())
        lap("write")
        return Work(plan, folder, written, rows_read=sum(change.file.rows for change in plan.rewritten))

    def receipt(self, one: Try, plan: Plan, work: Work, timings_ms: Mapping[str, int]) -> Receipt:
        by_slot: dict[int, dict[int, Cell]] = {}
        for (slot, expiration), cell in self._gone_by_cell().items():
            by_slot.setdefault(slot, {})[expiration] = cell
        forgotten: tuple[tuple[int, Cells], ...] = tuple(sorted(by_slot.items()))
        return replace(
            receipt_of(one.job, one.state, plan, work, one.attempt, timings_ms),
            forgotten=forgotten,
            forgotten_parts=tuple(sorted(self.gone.items(), key=lambda one: one[0])),
            parts_dropped=self._dropped(one),
            tombstones=self.tombstones,
        )

    def _going(self, file: FileFact, number: int, rows: pa.RecordBatch) -> Truths:
        return self.going[file.path][number : number + rows.num_rows]

    def _dropped(self, one: Try) -> tuple[str, ...]:
        """The parts that the ledger knows and nobody keeps."""
        return () if self.parts_kept is None else parts_beside(one.state.ledger, self.parts_kept)

    def _count(self, cells: PartCells, watermark: int | None) -> None:
        for (part, slot, expiration), cell in cells.items():
            if watermark is None or expiration > watermark:
                mine = self.gone.setdefault((slot, part), {})
                mine[expiration] = mine[expiration].plus(cell) if expiration in mine else cell

    def _gone_by_cell(self) -> dict[tuple[int, int], Cell]:
        found: dict[tuple[int, int], Cell] = {}
        for (slot, _), cells in self.gone.items():
            for expiration, cell in cells.items():
                at = (slot, expiration)
                found[at] = found[at].plus(cell) if at in found else cell
        return found
