"""Update by Spark: it reads the batch from its source, and writes it; the rest is `commits/update.py`."""

from __future__ import annotations

from collections.abc import Collection

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.attempt import Outcome, attempt
from tidewheel.commits.procedure import Lap, Try
from tidewheel.commits.update import Update
from tidewheel.commits.work import Work
from tidewheel.indexing.core.guards import NOTHING_CONFIRMED, Confirmations, guard_count
from tidewheel.indexing.core.plan import Plan
from tidewheel.indexing.errors import InvalidInput
from tidewheel.jobs.data.carry_out import carry_out
from tidewheel.jobs.data.source import refuse_missing


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
    procedure = Update(batch, confirmed, job.require_file().policy.shrink_max, _bring)
    return attempt(job, procedure, dry_run=dry_run)


def _bring(one: Try, plan: Plan, folder: str, lap: Lap) -> Work:
    work = carry_out(one.job, one.snapshot, one.state, plan, folder, lap)
    refuse_missing(one.job.require_file(), plan.slots, work.written.slots)
    return work
