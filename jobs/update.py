"""Update by Spark: `jobs/bring.py` brings the batch, beside the start of Java.

The rest, from the plan to the commit, is `commits/operations/update.py`.
"""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.attempt import Outcome, attempt
from tidewheel.commits.operations.update import Update
from tidewheel.commits.procedure import Lap, Try
from tidewheel.commits.work import Work
from tidewheel.commits.written import check_sizes
from tidewheel.indexing.core.guards import NOTHING_CONFIRMED, Confirmations, guard_count
from tidewheel.indexing.core.plan import Plan
from tidewheel.indexing.errors import InvalidInput
from tidewheel.jobs.process.java_start import begin_java


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
    procedure = Update(batch, confirmed, job.require_file().policy, _bring)
    return attempt(job, procedure, dry_run=dry_run)


def _bring(one: Try, plan: Plan, folder: str, lap: Lap) -> Work:
    """Import Python's part of the connection while Java starts on its own."""
    check_sizes(one.job.location, [change.file for change in plan.rewritten])
    begin_java()
    # With the first value that it is given, pyarrow looks for pandas: a second, where it is found.
    pa.scalar(0)
    from tidewheel.jobs.bring import bring

    return bring(one, plan, folder, lap)
