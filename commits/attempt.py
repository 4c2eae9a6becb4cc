"""An attempt: state, plan, work, commit once; if somebody else was first, plan again, a bounded number of times.

Whatever changes an archive is a `Procedure` run by `attempt`. Each try is pinned to one snapshot. If somebody else
committed first, the plan is made again on the fresh version, and files already written are used if the new plan asks
for the same work. Written files are discarded only while it is certain that they were not committed.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from time import perf_counter

from deltalake import Field

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.fail_points import reach
from tidewheel.commits.housekeeping import after_commit
from tidewheel.commits.procedure import Procedure, Try
from tidewheel.commits.statement import state_statistics
from tidewheel.commits.table import Queue
from tidewheel.commits.work import Work, discard
from tidewheel.indexing.core.plan import Plan
from tidewheel.indexing.core.receipts import Deed, Receipt
from tidewheel.indexing.durations import duration_text
from tidewheel.indexing.errors import Conflict, InvalidInput
from tidewheel.indexing.printable import counted
from tidewheel.storage.ledger_store import receipts_after, state_of

LOG = logging.getLogger(__name__)
TRIES_MAX = 20
# Of the grace period, how much an attempt may use between its first file and its commit.
GRACE_SHARE_MAX = 0.9


@dataclass(frozen=True)
class Outcome:
    """The result of an operation: its plan and, unless it was a dry run or changed nothing, its receipt."""

    plan: Plan
    receipt: Receipt | None = None
    version: int | None = None
    tries: int = 1
    quarantined_forgotten: int = 0


@dataclass
class Stopwatch:
    """The time of one operation, in whole milliseconds by step."""

    spent_ms: dict[str, int] = field(default_factory=dict)
    _since: float = field(default_factory=perf_counter)

    def lap(self, step: str) -> None:
        now = perf_counter()
        self.spent_ms[step] = self.spent_ms.get(step, 0) + round((now - self._since) * 1000)
        self._since = now


def attempt(job: ArchiveJob, procedure: Procedure, *, dry_run: bool = False) -> Outcome:
    """Carry a procedure through to its commit."""
    name = job.table.name_attempt(job.clock())
    lease = job.table.queue(name, job.clock)
    try:
        return _Attempt(job, procedure, name, lease).run(dry_run)
    finally:
        _released(lease)


def _released(lease: Queue) -> None:
    """Give the place in the queue back. The commit stands; a ticket that is left is passed by when stale."""
    try:
        lease.release()
    except OSError as error:
        LOG.warning("a place in the queue of writers could not be given back; it runs out by itself: %s", error)


class _Attempt:
    """The state of one attempt across its tries."""

    def __init__(self, job: ArchiveJob, procedure: Procedure, name: str, lease: Queue) -> None:
        self.job, self.procedure, self.name, self.lease = job, procedure, name, lease
        self.watch = Stopwatch()
        self.folders = 0
        self.written_since_us = 0
        self.written_version = 0
        self.written_columns: list[Field] = []
        self.work: Work | None = None
        self.started_version: int | None = None

    def run(self, dry_run: bool) -> Outcome:
        for tries in range(1, TRIES_MAX + 1):
            if not dry_run:
                self.lease.queue_if_others_wait()
            one, plan = self._planned()
            if dry_run or not self.procedure.is_needed(one, plan):
                self._discard()
                return Outcome(plan, tries=tries)
            reach("planned")
            self.job.planned(one.state, plan)
            outcome = None if self._stated(one) else self._carry_through(one, plan, tries)
            if outcome is not None:
                return outcome
        self._discard()
        raise Conflict(
            f"{TRIES_MAX} tries on the archive at {self.job.location.uri} were all overtaken by other writers. "
            "Nothing was changed",
            "run the command again when fewer writers are busy",
        )

    def _planned(self) -> tuple[Try, Plan]:
        """Return state and plan; a refusal here also means that an earlier try's files are not wanted."""
        try:
            one = self._try()
            self.watch.lap("state")
            plan = self.procedure.plan(one)
        except BaseException:
            self._discard()
            raise
        self.watch.lap("plan")
        return one, plan

    def _try(self) -> Try:
        snapshot = self.job.snapshot()
        if self.started_version is None:
            self.started_version = snapshot.version
        return Try(self.job, snapshot, state_of(snapshot), self.name, self.started_version)

    def _carry_through(self, one: Try, plan: Plan, tries: int) -> Outcome | None:
        """Work and commit; return None if somebody else was first."""
        try:
            work = self._worked(one, plan)
            receipt = self.procedure.receipt(one, plan, work, self.watch.spent_ms)
            self._refuse_older_than_grace(one)
            self._refuse_gone(one, work)
        except BaseException:
            self._discard()
            raise
        if self._stated(one, work):
            return None
        reach("ready_to_commit")
        try:
            version = self.procedure.commit(one, plan, work, receipt)
        except Conflict:
            if not self.procedure.plans_again:
                raise
            self.job.progress("somebody else was first: planning again")
            self.lease.take()
            self.watch.lap("waiting")
            return None
        # From here on the files belong to the archive, whatever is raised.
        reach("committed")
        after_commit(self.job, version, one.state)
        return Outcome(plan, receipt, version, tries)

    def _stated(self, one: Try, work: Work | None = None) -> bool:
        """Tell whether the table first had to name its columns with statistics: then everything is planned again."""
        if not self.procedure.plans_again:
            return False
        try:
            return state_statistics(
                self.job, one.snapshot, self.name, work.new_columns if work else (), work.written.files if work else ()
            )
        except Conflict:
            return True

    def _refuse_older_than_grace(self, one: Try) -> None:
        """Refuse to commit files older than grace: a vacuum may have deleted them."""
        grace_us = one.state.definition.retention.grace_us
        age_us = self.job.clock() - self.written_since_us
        if age_us > grace_us * GRACE_SHARE_MAX:
            raise InvalidInput(
                f"this attempt on archive {one.state.definition.name} took {duration_text(age_us)}; its files may be "
                f"vacuumed after a grace of {duration_text(grace_us)}. Nothing was changed",
                "bring fewer slots in one commit, or give the archive a longer grace",
            )

    def _refuse_gone(self, one: Try, work: Work) -> None:
        """Refuse to commit files that are gone: not all who delete commit a fence. Cost: a listing of each folder."""
        if not work.written.files:
            return
        location = self.job.location
        folders = {file.fact.folder for file in work.written.files}
        there = {location.relative(info.path) for folder in folders for info in location.files_below(folder)}
        gone = sorted(file.fact.path for file in work.written.files if file.fact.path not in there)
        if gone:
            raise InvalidInput(
                f"this attempt on archive {one.state.definition.name} wrote {counted(len(gone), 'file')} now "
                f"gone before its commit, the first is {gone[0]}. Nothing was changed",
                "see who else deletes files below the archive's folder, then run the command again",
            )

    def _worked(self, one: Try, plan: Plan) -> Work:
        if self.work is not None and self._still_fits(self.work, one, plan):
            return self.work
        self._discard()
        self.folders += 1
        self.written_columns = one.snapshot.columns
        self.written_version = one.snapshot.version
        self.written_since_us = self.job.clock()
        self.work = None
        self.work = self.procedure.work(one, plan, self._folder(), self.watch.lap)
        return self.work

    def _still_fits(self, work: Work, one: Try, plan: Plan) -> bool:
        """Tell whether the written files are what the new plan asks for.

        A row's hash counts its columns by their place.
        """
        same_columns = not work.new_columns and self.written_columns == one.snapshot.columns
        same = same_columns and work.plan.work == plan.work
        return same and self.procedure.still_fits(one, work) and not self._fenced(one)

    def _fenced(self, one: Try) -> bool:
        """Tell whether a vacuum may be deleting the written files, whatever the clocks say: it commits a fence."""
        later = receipts_after(one.snapshot, self.written_version)
        return any(receipt.operation is Deed.FENCE for _, receipt in later)

    def _folder(self) -> str:
        return f"{self.name}-{self.folders}"

    def _discard(self) -> None:
        if self.folders:
            discard(self.job.location, self._folder())
