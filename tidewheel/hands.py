"""The choice of the hand that writes an operation's files: this process or Spark.

This process moves what is small enough (`indexing/core/hand_choice.py`), Spark the rest; TIDEWHEEL_HAND=local or =spark
decides. What this process cannot do at all (a predicate, keys of other kinds, quarantined records), Spark does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from tidewheel.indexing.core.definition import ArchiveFile
from tidewheel.indexing.core.hand_choice import Choice, HandKind, choose_hand
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.extras import needed

if TYPE_CHECKING:
    import pyarrow as pa

    from tidewheel.commits.archive import ArchiveJob
    from tidewheel.commits.procedure import Hand, Hits, Lap, Swept, Try
    from tidewheel.commits.work import Work
    from tidewheel.indexing.core.plan import Plan
    from tidewheel.indexing.core.plan_kinds import Selection
    from tidewheel.indexing.core.state import FileFact
    from tidewheel.storage.location import Location
    from tidewheel.storage.snapshot import Snapshot

VARIABLE = "TIDEWHEEL_HAND"
Made = TypeVar("Made")


def archive_job(
    location: Location,
    file: ArchiveFile | None = None,
    *,
    clock: Callable[[], int] | None = None,
    progress: Callable[[str], None] = lambda step: None,
    called: str = "",
) -> ArchiveJob:
    """An archive as operations take it; `called` is what its user calls it, if not by its place."""
    from tidewheel.commits.archive import ArchiveJob
    from tidewheel.commits.clock import now_us

    return ArchiveJob(location, file, clock or now_us, progress, Hands(), called=called)


class Hands:
    """The hand that carries out each piece of work; none is imported before there is some."""

    def move(self, one: Try, plan: Plan, folder: str, lap: Lap) -> Work:
        choice = _choice(one.job.location, sum(change.file.bytes for change in plan.rewritten))
        one.job.progress(f"rewriting {len(plan.rewritten)} files, hand {choice}")
        work, choice = _carried_out(choice, lambda hand: hand.move(one, plan, folder, lap))
        return replace(work, hand=str(choice))

    def search(self, snapshot: Snapshot, selection: Selection, files: Sequence[FileFact]) -> Mapping[str, Hits]:
        # A key is looked up in the few row groups that may hold it: the rest is not read.
        choice = _choice(snapshot.location, 0 if snapshot.location.is_local else sum(file.bytes for file in files))
        return _carried_out(choice, lambda hand: hand.search(snapshot, selection, files))[0]

    def key_digests(self, snapshot: Snapshot, keys: Sequence[tuple[Any, ...]]) -> frozenset[str]:
        return _carried_out(_choice(snapshot.location, 0), lambda hand: hand.key_digests(snapshot, keys))[0]

    def record_digests(self, snapshot: Snapshot, columns: Sequence[str], rows: pa.Table) -> list[str]:
        choice = _choice(snapshot.location, 0)
        return _carried_out(choice, lambda hand: hand.record_digests(snapshot, columns, rows))[0]

    def sweep(self, job: ArchiveJob, selection: Selection, *, dry_run: bool) -> Swept:
        return _carried_out(_choice(job.location, 0), lambda hand: hand.sweep(job, selection, dry_run=dry_run))[0]


def _choice(location: Location, read_bytes: int) -> Choice:
    return choose_hand(read_bytes, is_local=location.is_local, asked=os.environ.get(VARIABLE, ""))


def _carried_out(choice: Choice, piece: Callable[[Hand], Made]) -> tuple[Made, Choice]:
    """The piece of work done, and by whom in the end."""
    if choice.kind is HandKind.SPARK:
        return piece(_spark(choice)), choice
    from tidewheel.local.hand import BeyondThisHand, LocalHand

    try:
        return piece(LocalHand()), choice
    except BeyondThisHand as beyond:
        if choice.asked:
            raise InvalidInput(
                f"this process cannot do what {VARIABLE}=local asks for: {beyond}. Nothing was changed",
                f"leave {VARIABLE} unset, so that Spark does it",
            ) from beyond
        choice = Choice(HandKind.SPARK, str(beyond))
        return piece(_spark(choice)), choice


def _spark(choice: Choice) -> Hand:
    with needed(f"for this ({choice.reason})"):
        from tidewheel.jobs.hand import SparkHand

    return SparkHand()
