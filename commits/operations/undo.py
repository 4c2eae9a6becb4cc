"""Undo: the version before a mistake, as a new commit; within grace, while its files are still there.

1. No operation that an undo cannot take back may lie between (a forget, a migration).
2. The files of that version must be there and whole, and no vacuum may be about to delete them: an undo announces
   itself and looks how far down vacuum leaves versions whole (`storage/floor.py`).
3. One commit: files in and out, the earlier watermark, and the ledger's difference in the receipt.

An undo is never planned again on a newer version: another writer's commit in the meantime is no mistake of ours.
Columns that came since stay, empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from tidewheel.commits.accounting import undo_receipt
from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.attempt import Outcome, attempt
from tidewheel.commits.procedure import Lap, Procedure, Try
from tidewheel.commits.work import Work
from tidewheel.commits.written import NOTHING_WRITTEN
from tidewheel.indexing.core.plan import Plan
from tidewheel.indexing.core.plan_kinds import UndoPlan, plan_undo
from tidewheel.indexing.core.receipts import Deed, Receipt
from tidewheel.indexing.core.slots import MICROS_PER_SECOND, iso
from tidewheel.indexing.core.state import FileFact
from tidewheel.indexing.core.undo_rules import refuse_barriers
from tidewheel.indexing.errors import InvalidInput
from tidewheel.storage.floor import announced, floor
from tidewheel.storage.ledger_store import entry_receipt, receipts_after, state_of
from tidewheel.storage.log_files import list_log
from tidewheel.storage.snapshot import Snapshot


@dataclass(frozen=True)
class Undone(Outcome):
    """The result of an undo: the plan names the files that leave, `restored` those that return."""

    to_version: int = 0
    restored: tuple[FileFact, ...] = ()


def undo(job: ArchiveJob, to_version: int | None = None, *, dry_run: bool = False) -> Undone:
    """Go back to a version, by default the one before the last operation. Cost: footers of the files that come back."""
    with ExitStack() as announcements:
        procedure = _Undo(to_version, None if dry_run else announcements)
        # The archive file may describe what is to be undone: it is not consulted.
        outcome = attempt(replace(job, file=None), procedure, dry_run=dry_run)
    plan = procedure.decided
    return Undone(**vars(outcome), to_version=plan.to_version, restored=plan.restored)


@dataclass
class _Undo(Procedure):
    plans_again = False

    to_version: int | None
    announcements: ExitStack | None
    earlier: Snapshot = field(init=False)
    decided: UndoPlan = field(init=False)

    def plan(self, one: Try) -> Plan:
        target = _before_the_last_deed(one.snapshot) if self.to_version is None else self.to_version
        if not 0 <= target < one.snapshot.version:
            raise InvalidInput(
                f"cannot go back to version {target}: the archive is at version {one.snapshot.version}",
                f"see the versions there were: {one.snapshot.location.command('history')}",
            )
        if self.announcements is not None:
            self.announcements.enter_context(announced(one.job.location, one.attempt))
        _refuse_beyond_grace(one, target)
        refuse_barriers(receipts_after(one.snapshot, target), target)
        self.earlier = one.job.table.open(target)
        self.decided = plan_undo(one.state, state_of(self.earlier))
        one.job.table.check_files(self.decided.restored)
        return self.decided

    def work(self, one: Try, plan: Plan, folder: str, lap: Lap) -> Work:
        files = tuple(one.job.table.as_written(self.earlier, self.decided.restored))
        return Work(plan, folder, replace(NOTHING_WRITTEN, files=files))

    def receipt(self, one: Try, plan: Plan, work: Work, timings_ms: Mapping[str, int]) -> Receipt:
        return undo_receipt(one.job, one.attempt, self.decided, timings_ms)


def _before_the_last_deed(snapshot: Snapshot) -> int:
    """Return the version before the last operation; fences did nothing."""
    at = snapshot.version
    entries = list_log(snapshot.location).entries
    while at in entries and (receipt := entry_receipt(snapshot, at)) and receipt.operation is Deed.FENCE:
        at -= 1
    return at - 1


def _refuse_beyond_grace(one: Try, target: int) -> None:
    """Refuse a version whose files may be gone: they stay until grace after the next commit."""
    grace_us = one.state.definition.retention.grace_us
    kept_from = floor(one.job.location)
    following = list_log(one.job.location).entries.get(target + 1)
    if target < kept_from:
        reason = f"vacuum has deleted, or is deleting, what only versions before {kept_from} need"
    elif following is None or following.changed_us + grace_us <= one.job.clock():
        since = f"at {iso(following.changed_us)}, and " if following is not None else "long ago: "
        reason = f"it was replaced {since}its files are only kept for {grace_us / MICROS_PER_SECOND:g} s"
    else:
        return
    again = one.job.source_command("backfill", one.state.definition.name, "--from", "START", "--to", "END")
    raise InvalidInput(
        f"cannot go back to version {target}: {reason}. Nothing was changed",
        f"bring the slots again from the source: {again}",
    )
