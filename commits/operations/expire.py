"""Expire: the watermark moves without a batch, and expired records leave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidewheel.commits.accounting import receipt_of
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.attempt import Outcome, attempt
from tidewheel.commits.conserved import check_conserved
from tidewheel.commits.fail_points import reach
from tidewheel.commits.procedure import Lap, Procedure, Try
from tidewheel.commits.work import Work
from tidewheel.commits.written import NOTHING_WRITTEN
from tidewheel.indexing.core.guards import NOTHING_CONFIRMED, Confirmations, guard_watermark
from tidewheel.indexing.core.plan import Plan, plan_update
from tidewheel.indexing.core.receipts import Receipt


def expire(
    job: ArchiveJob,
    through: int,
    *,
    confirmed: Confirmations = NOTHING_CONFIRMED,
    dry_run: bool = False,
) -> Outcome:
    """Move the watermark without a batch: records that expire through that slot leave.

    Cost: the files its plan rewrites.
    """
    return attempt(job, _Expire(through, confirmed), dry_run=dry_run)


@dataclass(frozen=True)
class _Expire(Procedure):
    through: int
    confirmed: Confirmations

    def plan(self, one: Try) -> Plan:
        plan = plan_update(one.state, (), self.through)
        guard_watermark(one.state, plan.watermark, one.job.clock(), self.confirmed)
        return plan

    def is_needed(self, one: Try, plan: Plan) -> bool:
        return plan.watermark != one.state.watermark or bool(plan.dropped) or bool(plan.rewritten)

    def work(self, one: Try, plan: Plan, folder: str, lap: Lap) -> Work:
        if not plan.rewritten:
            return Work(plan, folder, NOTHING_WRITTEN)
        one.job.table.check_files([change.file for change in plan.rewritten])
        work = one.job.hand.move(one, plan, folder, lap)
        reach("files_written")
        check_conserved(one.job.command("audit"), one.state, plan, work.written)
        lap("check")
        return work

    def receipt(self, one: Try, plan: Plan, work: Work, timings_ms: Mapping[str, int]) -> Receipt:
        return receipt_of(one.job, one.state, plan, work, one.attempt, timings_ms)
