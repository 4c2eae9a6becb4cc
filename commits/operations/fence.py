"""A fence: an empty commit that takes the next version, so that whoever planned on an older one must plan again.

Vacuum makes one before it deletes files that no commit ever brought. Their writer may be alive after all, held up
between its last look and its commit: without a fence it could still commit files that are being deleted. With it, it
plans again, and writes again.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidewheel.commits.accounting import bare_receipt
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.attempt import Outcome, attempt
from tidewheel.commits.procedure import Procedure, Try
from tidewheel.commits.work import Work
from tidewheel.indexing.core.plan import Plan
from tidewheel.indexing.core.plan_kinds import plan_nothing
from tidewheel.indexing.core.receipts import Deed, Receipt


def fence(job: ArchiveJob) -> Outcome:
    """Commit nothing, as the next version."""
    return attempt(job, _Fence())


class _Fence(Procedure):
    def plan(self, one: Try) -> Plan:
        return plan_nothing(one.state, Deed.FENCE)

    def receipt(self, one: Try, plan: Plan, work: Work, timings_ms: Mapping[str, int]) -> Receipt:
        return bare_receipt(one.job, one.state, Deed.FENCE, one.attempt, note="before files of dead attempts go")
