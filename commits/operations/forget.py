"""Forget: records of some keys, or those a predicate selects, leave for good, in one commit.

1. The files that hold a matching record are found, live or dead; only they are rewritten.
2. The commit carries tombstones: keyed digests with the last applied slot as bound, never a value. Every later batch,
   replay and backfill up to that bound is filtered by them, until nothing they cover could still be alive.
3. For keys the tombstones are the keys' digests. For a predicate they are the digests of the whole records it
   matched: a predicate's own text would be a value, and its keys would forget records that it does not match.
4. The side tables are searched before the commit, so that tombstones cover their records as well, and swept by the
   same match after it; a rerun sweeps again.

The search comes before the plan and reads each file once: on the next try only new files are searched.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tidewheel.commits.accounting import receipt_of
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.attempt import Outcome, attempt
from tidewheel.commits.conserved import check_conserved
from tidewheel.commits.fail_points import reach
from tidewheel.commits.procedure import Hits, Lap, Procedure, Swept, Try
from tidewheel.commits.standing_commit import standing_commit
from tidewheel.commits.work import Work
from tidewheel.commits.written import NOTHING_WRITTEN
from tidewheel.indexing.core.cells import Cell
from tidewheel.indexing.core.plan import Plan
from tidewheel.indexing.core.plan_kinds import ForgetPlan, Selection, plan_forget
from tidewheel.indexing.core.receipts import Receipt, Tombstone

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Forgotten(Outcome):
    """The result of a forget, with how many records it found, alive or dead; for a predicate, in which slots."""

    rows_found: int = 0
    slots_found: tuple[int, ...] = ()

    @property
    def found_nothing(self) -> bool:
        return self.rows_found == self.quarantined_forgotten == 0


def forget(job: ArchiveJob, *, keys: Iterable[Sequence[Any]] = (), where: str = "", dry_run: bool = False) -> Forgotten:
    """Remove the matching records, and keep them out of every later batch up to the last applied slot."""
    selection = Selection(tuple(dict.fromkeys(tuple(key) for key in keys)), where)
    # Before the commit: a predicate that some quarantined record fails must not fail after it.
    beside = job.hand.sweep(job, selection, dry_run=True)
    procedure = _Forget(selection, beside)
    outcome = attempt(replace(job, file=None), procedure, dry_run=dry_run)
    if not dry_run:
        with standing_commit(_stands(outcome), "what lies beside the archive, as its quarantine, is not swept yet"):
            beside = _swept(job, procedure)
        reach("side_tables_swept")
    forgotten = Forgotten(
        outcome.plan,
        outcome.receipt,
        outcome.version,
        outcome.tries,
        beside.rows,
        rows_found=procedure.rows_found,
        slots_found=procedure.slots_found,
    )
    if forgotten.found_nothing:
        LOG.warning("a forget found no record in the archive at %s, nor in its quarantine", job.location.uri)
    return forgotten


def _stands(outcome: Outcome) -> str:
    if outcome.version is None:
        return "the archive holds no such record"
    return f"version {outcome.version} stands, in which these records are forgotten"


def _swept(job: ArchiveJob, procedure: _Forget) -> Swept:
    """Sweep the side tables; records that came there since the search get tombstones in a commit of their own."""
    found = job.hand.sweep(job, procedure.selection, dry_run=False)
    if not found.digests <= procedure.beside.digests:
        attempt(replace(job, file=None), replace(procedure, beside=procedure.beside.beside(found)))
    return found


@dataclass
class _Forget(Procedure):
    selection: Selection
    beside: Swept  # of a predicate, what it matches in the side tables
    searched: dict[str, Hits] = field(default_factory=dict)  # by file
    rows_found: int = 0
    slots_found: tuple[int, ...] = ()  # of a predicate

    def plan(self, one: Try) -> ForgetPlan:
        if not one.state.ledger.applied:
            return plan_forget(one.state, self.selection, {})
        digests = self._searched_digests(one)
        slot_max = max(last for _, last in one.state.ledger.applied)
        columns = one.state.definition.key if self.selection.keys else tuple(c.name for c in one.snapshot.columns)
        tombstones = tuple(Tombstone(columns, digest, slot_max) for digest in sorted(digests))
        hits = {path: found.cells for path, found in self.searched.items()}
        self._note_found([hits[file.path] for file in one.state.files])
        return plan_forget(one.state, self.selection, hits, tombstones)

    def _note_found(self, in_files: Sequence[Mapping[tuple[int, int], Cell]]) -> None:
        self.rows_found = sum(cell.rows for cells in in_files for cell in cells.values())
        if self.selection.where:
            stored = (slot for cells in in_files for slot, _ in cells)
            self.slots_found = tuple(sorted(self.beside.slots.union(stored)))

    def is_needed(self, one: Try, plan: Plan) -> bool:
        new = set(plan.tombstones) - set(one.state.ledger.tombstones)
        return bool(plan.rewritten) or bool(new)

    def work(self, one: Try, plan: Plan, folder: str, lap: Lap) -> Work:
        if not plan.rewritten:
            return Work(plan, folder, NOTHING_WRITTEN)
        work = one.job.hand.move(one, plan, folder, lap)
        reach("files_written")
        check_conserved(one.job.command("audit"), one.state, plan, work.written, _own(plan).found)
        lap("check")
        return work

    def receipt(self, one: Try, plan: Plan, work: Work, timings_ms: Mapping[str, int]) -> Receipt:
        receipt = receipt_of(one.job, one.state, plan, work, one.attempt, timings_ms)
        slots = self.slots_found if self.selection.where else None
        return replace(receipt, forgotten=_own(plan).forgotten, forgotten_in=slots, tombstones=plan.tombstones)

    def _searched_digests(self, one: Try) -> frozenset[str]:
        """Search the files that were not searched yet; return the digests that keep the matching records out."""
        keys = one.job.hand.key_digests(one.snapshot, self.selection.keys) if self.selection.keys else frozenset()
        new = [file for file in one.state.files if file.path not in self.searched]
        if new:
            one.job.table.check_files(new)
            found = one.job.hand.search(one.snapshot, self.selection, new)
            self.searched |= {file.path: found.get(file.path, Hits()) for file in new}
        if self.selection.keys:
            return keys
        return self.beside.digests.union(*(self.searched[file.path].digests for file in one.state.files))


def _own(plan: Plan) -> ForgetPlan:
    assert isinstance(plan, ForgetPlan)
    return plan
