"""Observe: somebody derives from the archive, so its ledger keeps batches for so many slots back.

The receipt carries the known batches beyond those that the ledger keeps: from the receipts of all time, so that a
growing horizon misses nothing. While an archive is observed, records that are not stored are kept beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tidewheel.commits.accounting import bare_receipt
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.attempt import Outcome, attempt
from tidewheel.commits.procedure import Procedure, Try
from tidewheel.commits.work import Work
from tidewheel.indexing.core.batch_map import Batch, BatchKey
from tidewheel.indexing.core.batches import batch_in, batches_at
from tidewheel.indexing.core.ledger import Ledger
from tidewheel.indexing.core.plan import Plan
from tidewheel.indexing.core.plan_kinds import plan_nothing
from tidewheel.indexing.core.receipts import Deed, Observation, Receipt
from tidewheel.storage.ledger_store import all_receipts
from tidewheel.storage.snapshot import Snapshot


def observe(job: ArchiveJob, horizon: int) -> Outcome:
    """Keep the batch map so many slots back from the watermark; do nothing if it is so already."""
    return attempt(replace(job, file=None), _Observe(horizon))


@dataclass(frozen=True)
class _Observe(Procedure):
    horizon: int

    def plan(self, one: Try) -> Plan:
        return plan_nothing(one.state, Deed.OBSERVE)

    def is_needed(self, one: Try, plan: Plan) -> bool:
        return one.state.ledger.horizon != self.horizon

    def receipt(self, one: Try, plan: Plan, work: Work, timings_ms: Mapping[str, int]) -> Receipt:
        known = batches_beyond(one.snapshot, one.state.ledger, self.horizon)
        receipt = bare_receipt(one.job, one.state, Deed.OBSERVE, one.attempt, note=f"{self.horizon} slots back")
        return replace(receipt, observation=Observation(self.horizon, known))


def batches_beyond(snapshot: Snapshot, ledger: Ledger, horizon: int) -> dict[BatchKey, Batch]:
    """Return the batches within a horizon that the ledger has dropped. Cost: all receipts once, if there are any."""
    if ledger.watermark is None or horizon <= ledger.horizon:
        return {}
    oldest = ledger.watermark - horizon
    asked = (slot for first, last in ledger.applied for slot in range(max(first, oldest + 1), last + 1))
    if all((slot, "") in ledger.batches for slot in asked):
        return {}
    receipts = dict(all_receipts(snapshot))
    return {
        (slot, ""): batch_in(receipts.values(), slot, name)
        for slot, name in batches_at(receipts, snapshot.version).items()
        if slot > oldest and (slot, "") not in ledger.batches
    }
