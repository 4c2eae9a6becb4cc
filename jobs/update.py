"""Update: a batch of slots in, what has expired out, one commit.

1. State: one snapshot of the table; plan and commit are pinned to it.
2. Plan: decided by the pure core from the state alone.
3. Do: the source is read once per attempt, and the files to rewrite; new files are written and counted.
4. Commit once. Somebody else was first: plan again on the fresh version; if the work is still the same, the files
   already written are committed as they are. If the attempt's own slots changed meanwhile, it stops as superseded.
5. The receipt rides in the commit; now and then the log's receipts are folded into the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.attempt import Outcome, attempt
from tidewheel.commits.commit import commit
from tidewheel.commits.fail_points import reach
from tidewheel.commits.operation import Operation, Try
from tidewheel.commits.receipt import receipt_of
from tidewheel.commits.side_tables_in_use import discard_aside, store_aside
from tidewheel.commits.work import Work
from tidewheel.indexing.errors import InvalidInput, Superseded
from tidewheel.indexing.guards import NOTHING_CONFIRMED, Confirmations, guard_count, guard_shrink, guard_watermark
from tidewheel.indexing.ledger import slots_changed_since
from tidewheel.indexing.plan import Plan, plan_update
from tidewheel.indexing.receipts import Receipt
from tidewheel.jobs.carry_out import carry_out
from tidewheel.jobs.schema import wider_schema
from tidewheel.jobs.source import refuse_missing
from tidewheel.storage.ledger_store import receipts_after


def update(
    job: ArchiveJob,
    slots: Collection[int],
    *,
    confirmed: Confirmations = NOTHING_CONFIRMED,
    dry_run: bool = False,
) -> Outcome:
    """Bring the batch of some slots into the archive, in one commit; a slot that comes again is replaced."""
    guard_count(len(slots), allow_many=confirmed.allow_many, in_one_commit=True)
    batch = tuple(sorted(set(slots)))
    if not batch:
        raise InvalidInput("an update needs at least one slot", "name a slot, or use: tidewheel expire")
    job.require_file()
    return attempt(job, _Update(batch, confirmed), dry_run=dry_run)


@dataclass(frozen=True)
class _Update(Operation):
    batch: tuple[int, ...]
    confirmed: Confirmations

    def plan(self, one: Try) -> Plan:
        self._refuse_superseded(one)
        plan = plan_update(one.state, self.batch)
        guard_watermark(
            one.state,
            plan.watermark,
            one.job.clock(),
            allow_future=self.confirmed.allow_future,
            allow_jump=self.confirmed.allow_jump,
        )
        return plan

    def work(self, one: Try, plan: Plan, folder: str, lap: Callable[[str], None]) -> Work:
        work = carry_out(one.job, one.snapshot, one.state, plan, folder, lap)
        refuse_missing(one.job.require_file(), self.batch, work.written.slots)
        reach("files_written")
        if one.snapshot.version != one.started_version:
            discard_aside(one.job, one.attempt)
        if store_aside(one.job, work.written, one.attempt):
            reach("side_tables_written")
            lap("side tables")
        return work

    def receipt(self, one: Try, plan: Plan, work: Work, timings_ms: Mapping[str, int]) -> Receipt:
        plan = work.plan if work.new_columns else plan
        receipt = receipt_of(one.job, one.state, plan, work, one.attempt, timings_ms)
        if work.new_columns:
            receipt = replace(receipt, note=f"new columns: {', '.join(one.name for one in work.new_columns)}")
        shrink_max = one.job.require_file().policy.shrink_max
        guard_shrink(one.state, receipt.slots, shrink_max, allow_shrink=self.confirmed.allow_shrink)
        return receipt

    def commit(self, one: Try, plan: Plan, work: Work, receipt: Receipt) -> int:
        plan = work.plan if work.new_columns else plan
        removed = [change.file for change in (*plan.dropped, *plan.rewritten)]
        schema = wider_schema(one.snapshot, work.new_columns)
        return commit(one.snapshot, receipt, work.written.files, removed, schema)

    def _refuse_superseded(self, one: Try) -> None:
        if one.snapshot.version == one.started_version:
            return
        later = (receipt for _, receipt in receipts_after(one.snapshot, one.started_version))
        ours = sorted(slots_changed_since(later, one.attempt) & set(self.batch))
        if ours:
            names = ", ".join(one.state.definition.axis.name(slot) for slot in ours)
            raise Superseded(
                f"slot {names} of archive {one.state.definition.name} got another batch while this attempt ran; that "
                "one is newer and stays. This attempt changed nothing",
                "nothing, if that batch is the right one; otherwise run this command again",
                slots=ours,
            )
