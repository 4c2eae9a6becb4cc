"""Undo: the version before a mistake, as a new commit; within grace, while its files are still there.

1. Nothing that an undo cannot take back may lie between (a forget, a migration).
2. The files of that version must be there and whole, and no vacuum may be about to delete them: an undo announces
   itself and looks how far down vacuum leaves versions whole (`storage/floor.py`).
3. One commit: files in and out, the earlier watermark, and the ledger's difference in the receipt.

An undo is never planned again on a newer version: what somebody else committed meanwhile is no mistake of ours. Columns
that came since stay, empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import pyarrow.parquet as pq

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.attempt import Outcome
from tidewheel.commits.attempt_id import new_attempt
from tidewheel.commits.commit import NewFile, commit
from tidewheel.commits.fail_points import reach
from tidewheel.commits.housekeeping import after_commit
from tidewheel.commits.receipt import PROGRAM
from tidewheel.commits.statistics import file_statistics
from tidewheel.commits.written import check_sizes
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.plan import FileChange, Plan
from tidewheel.indexing.receipts import Operation, Receipt
from tidewheel.indexing.slots import MICROS_PER_SECOND, iso
from tidewheel.indexing.state import FileFact, TableState
from tidewheel.indexing.undo import refuse_barriers, restoration_between, tombstones_between
from tidewheel.storage.floor import announced, floor
from tidewheel.storage.ledger_store import entry_receipt, receipts_after, state_of
from tidewheel.storage.log_files import list_log
from tidewheel.storage.snapshot import Snapshot, open_snapshot


@dataclass(frozen=True)
class Undone(Outcome):
    """What an undo did: the plan names the files that go, `restored` those that come back."""

    to_version: int = 0
    restored: tuple[FileFact, ...] = ()


def undo(job: ArchiveJob, to_version: int | None = None, *, dry_run: bool = False) -> Undone:
    """Go back to a version, by default the one before the last operation. Cost: footers of the files that come back."""
    snapshot = open_snapshot(job.location)
    target = _before_the_last_deed(snapshot) if to_version is None else to_version
    if not 0 <= target < snapshot.version:
        raise InvalidInput(
            f"cannot go back to version {target}: the archive is at version {snapshot.version}",
            f"see the versions there were: tidewheel history {snapshot.definition.name}",
        )
    attempt = new_attempt(job.clock())
    with nullcontext() if dry_run else announced(job.location, attempt):
        _refuse_beyond_grace(job, snapshot, target)
        refuse_barriers(receipts_after(snapshot, target), target)
        earlier = open_snapshot(job.location, target)
        now, then = state_of(snapshot), state_of(earlier)
        plan, restored = _plan(now, then)
        check_sizes(job.location, restored)
        if dry_run:
            return Undone(plan, to_version=target, restored=restored)
        receipt = _receipt(job, attempt, now, then, plan, restored)
        added = _as_written(earlier, restored)
        reach("planned")
        version = commit(snapshot, receipt, added, [change.file for change in plan.dropped])
    reach("committed")
    after_commit(job, version)
    return Undone(plan, receipt, version, to_version=target, restored=restored)


def _before_the_last_deed(snapshot: Snapshot) -> int:
    """The version before the last operation; fences did nothing."""
    at = snapshot.version
    entries = list_log(snapshot.location).entries
    while at in entries and (receipt := entry_receipt(snapshot, at)) and receipt.operation is Operation.FENCE:
        at -= 1
    return at - 1


def _refuse_beyond_grace(job: ArchiveJob, snapshot: Snapshot, target: int) -> None:
    """Files of a version are kept until grace after the next one was committed, and log entries at least as long."""
    grace_us = snapshot.definition.retention.grace_us
    kept_from = floor(job.location)
    following = list_log(job.location).entries.get(target + 1)
    if target < kept_from:
        reason = f"vacuum has deleted, or is deleting, what only versions before {kept_from} need"
    elif following is None or following.changed_us + grace_us <= job.clock():
        since = f"at {iso(following.changed_us)}, and " if following is not None else "long ago: "
        reason = f"it was replaced {since}its files are only kept for {grace_us / MICROS_PER_SECOND:g} s"
    else:
        return
    raise InvalidInput(
        f"cannot go back to version {target}: {reason}. Nothing was changed",
        f"bring the slots again from the source: tidewheel backfill {snapshot.definition.name} --from START --to END",
    )


def _plan(now: TableState, then: TableState) -> tuple[Plan, tuple[FileFact, ...]]:
    present, wanted = {file.path for file in now.files}, {file.path for file in then.files}
    plan = Plan(
        operation=Operation.UNDO,
        version=now.version,
        head=now.head,
        slots=(),
        watermark_before=now.watermark,
        watermark=then.watermark,
        generation=now.definition.current,
        dropped=tuple(
            FileChange(file, f"came after version {then.version}") for file in now.files if file.path not in wanted
        ),
        rewritten=(),
    )
    return plan, tuple(file for file in then.files if file.path not in present)


def _receipt(
    job: ArchiveJob, attempt: str, now: TableState, then: TableState, plan: Plan, restored: Sequence[FileFact]
) -> Receipt:
    gone = [change.file for change in plan.dropped]
    return Receipt(
        operation=Operation.UNDO,
        attempt=attempt,
        head=now.head + 1,
        watermark=then.watermark,
        generation=now.definition.current.number,
        committed_us=job.clock(),
        tombstones=tombstones_between(now.ledger, then.ledger),
        restoration=restoration_between(now.ledger, then.ledger),
        files_added=len(restored),
        bytes_added=sum(file.bytes for file in restored),
        files_removed=len(gone),
        bytes_removed=sum(file.bytes for file in gone),
        files_dropped=len(gone),
        bytes_dropped=sum(file.bytes for file in gone),
        subindices_touched=tuple(sorted({file.subindex for file in (*gone, *restored)})),
        program=PROGRAM,
        note=f"back to version {then.version}",
    )


def _as_written(earlier: Snapshot, restored: Sequence[FileFact]) -> list[NewFile]:
    """Files as their attempt committed them: statistics from the footers, which proves that they can be read."""
    written_ms = dict(
        zip(*(earlier.adds.column(name).to_pylist() for name in ("path", "modification_time")), strict=True)
    )
    added = []
    for fact in restored:
        source = earlier.location.filesystem.open_input_file(earlier.location.child(fact.path))
        with source, pq.ParquetFile(source) as parquet:
            statistics = file_statistics(parquet.metadata, earlier.definition.key)
        added.append(NewFile(fact, statistics, written_ms[fact.path]))
    return added
