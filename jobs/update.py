"""Update: a batch of slots in, what has expired out, one commit.

1. State: one snapshot of the table; plan and commit are pinned to it.
2. Plan: decided by the pure core from the state alone.
3. Do: the source is read once per attempt, and the files to rewrite; new files are written and counted.
4. Commit once. Somebody else was first: plan again on the fresh version; if the work is still the same, the files
   already written are committed as they are. If the attempt's own slots changed meanwhile, it stops as superseded.
5. The receipt rides in the commit; now and then the log's receipts are folded into the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from time import perf_counter

from tidewheel.indexing.errors import Conflict, InvalidInput, Superseded
from tidewheel.indexing.guards import guard_shrink, guard_watermark
from tidewheel.indexing.ledger import slots_changed_since
from tidewheel.indexing.plan import Plan, plan_update
from tidewheel.indexing.receipts import Receipt
from tidewheel.indexing.state import TableState
from tidewheel.jobs.archive import ArchiveJob
from tidewheel.jobs.attempts import new_attempt
from tidewheel.jobs.carry_out import Work, carry_out, discard
from tidewheel.jobs.commit import commit
from tidewheel.jobs.fail_points import reach
from tidewheel.jobs.housekeeping import after_commit
from tidewheel.jobs.quarantine import store_quarantined
from tidewheel.jobs.receipt import receipt_of
from tidewheel.storage.lease import Lease
from tidewheel.storage.ledger_store import receipts_after, state_of
from tidewheel.storage.snapshot import Snapshot

TRIES_MAX = 20


@dataclass(frozen=True)
class Confirmations:
    """What the caller has explicitly confirmed."""

    allow_future: bool = False
    allow_jump: bool = False
    allow_shrink: bool = False


@dataclass(frozen=True)
class Outcome:
    """What an operation did: its plan and, unless it was a dry run, its receipt and version."""

    plan: Plan
    receipt: Receipt | None = None
    version: int | None = None
    tries: int = 1


@dataclass
class Stopwatch:
    """Where the time of one operation goes, in whole milliseconds by step."""

    spent_ms: dict[str, int] = field(default_factory=dict)
    _since: float = field(default_factory=perf_counter)

    def lap(self, step: str) -> None:
        now = perf_counter()
        self.spent_ms[step] = self.spent_ms.get(step, 0) + round((now - self._since) * 1000)
        self._since = now


def update(
    job: ArchiveJob,
    slots: Iterable[int],
    *,
    confirmed: Confirmations = Confirmations(),
    dry_run: bool = False,
) -> Outcome:
    """Bring the batch of some slots into the archive, in one commit; a slot that comes again is replaced."""
    batch = tuple(sorted(set(slots)))
    if not batch:
        raise InvalidInput("an update needs at least one slot", "name a slot, or use: tidewheel expire")
    job.require_file()
    return _run(job, batch, None, confirmed, dry_run)


def expire(
    job: ArchiveJob,
    through: int,
    *,
    confirmed: Confirmations = Confirmations(),
    dry_run: bool = False,
) -> Outcome:
    """Move the watermark without a batch: what expires through that slot leaves."""
    return _run(job, (), through, confirmed, dry_run)


def _run(
    job: ArchiveJob, batch: tuple[int, ...], through: int | None, confirmed: Confirmations, dry_run: bool
) -> Outcome:
    attempt = new_attempt(job.clock())
    watch = Stopwatch()
    work: Work | None = None
    started_version: int | None = None
    lease = Lease(job.location, attempt, job.clock)
    try:
        for tries in range(1, TRIES_MAX + 1):
            snapshot = job.snapshot()
            state = state_of(snapshot)
            started_version = snapshot.version if started_version is None else started_version
            _refuse_superseded(snapshot, started_version, batch, attempt)
            watch.lap("state")
            plan = plan_update(state, batch, through)
            guard_watermark(
                state, plan.watermark, job.clock(),
                allow_future=confirmed.allow_future, allow_jump=confirmed.allow_jump,
            )  # fmt: skip
            watch.lap("plan")
            if dry_run:
                return Outcome(plan)
            reach("planned")
            if work is None or work.plan.work != plan.work:
                work = _do(job, snapshot, state, plan, attempt, tries, watch, work)
            receipt = receipt_of(job, state, plan, work, attempt, watch.spent_ms)
            if batch:
                guard_shrink(
                    state,
                    receipt.slots,
                    job.require_file().policy.shrink_max,
                    allow_shrink=confirmed.allow_shrink,
                )
            if not batch and plan.watermark == state.watermark and not plan.dropped and not plan.rewritten:
                return Outcome(plan, tries=tries)
            try:
                return _commit(job, snapshot, plan, work, receipt, tries)
            except Conflict:
                job.progress("somebody else was first: planning again")
                # From the second try on, writers queue: the slow one is not overtaken for ever.
                lease.take()
                watch.lap("waiting")
    except BaseException:
        discard(job.location, attempt, work)
        raise
    finally:
        lease.release()
    discard(job.location, attempt, work)
    raise Conflict(
        f"{TRIES_MAX} tries on archive {job.location.uri} were all overtaken by other writers. Nothing was changed",
        "run the command again when fewer writers are busy",
    )


def _do(
    job: ArchiveJob, snapshot: Snapshot, state: TableState, plan: Plan, attempt: str, tries: int,
    watch: Stopwatch, before: Work | None,
) -> Work:  # fmt: skip
    if before is not None:
        discard(job.location, attempt, before)
    work = carry_out(job, snapshot, state, plan, f"{attempt}-{tries}", watch.lap)
    reach("files_written")
    if work.written.rules:
        store_quarantined(job, plan, work, attempt)
        reach("quarantine_written")
        watch.lap("quarantine")
    return work


def _commit(job: ArchiveJob, snapshot: Snapshot, plan: Plan, work: Work, receipt: Receipt, tries: int) -> Outcome:
    removed = [change.file for change in (*plan.dropped, *plan.rewritten)]
    version = commit(snapshot, receipt, work.written.files, removed)
    reach("committed")
    after_commit(job, version)
    return Outcome(plan, receipt, version, tries)


def _refuse_superseded(snapshot: Snapshot, since: int, batch: tuple[int, ...], attempt: str) -> None:
    if not batch or snapshot.version == since:
        return
    changed = slots_changed_since((one for _, one in receipts_after(snapshot, since)), attempt)
    ours = sorted(changed & set(batch))
    if ours:
        names = ", ".join(snapshot.definition.axis.name(slot) for slot in ours)
        raise Superseded(
            f"slot {names} of archive {snapshot.definition.name} got another batch while this attempt ran; that one "
            "is newer and stays. This attempt changed nothing",
            "nothing, if that batch is the right one; otherwise run this command again",
            slots=ours,
        )
