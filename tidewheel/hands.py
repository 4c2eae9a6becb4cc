"""Who writes the files of an operation: the hand that an archive's jobs are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from tidewheel.indexing.definition import ArchiveFile

if TYPE_CHECKING:
    from tidewheel.commits.archive import ArchiveJob
    from tidewheel.commits.operation import Hand, Hits, Lap, Try
    from tidewheel.commits.work import Work
    from tidewheel.indexing.plan import Plan
    from tidewheel.indexing.plan_kinds import Selection
    from tidewheel.indexing.state import FileFact
    from tidewheel.storage.location import Location
    from tidewheel.storage.snapshot import Snapshot


def archive_job(
    location: Location,
    file: ArchiveFile | None = None,
    *,
    clock: Callable[[], int] | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> ArchiveJob:
    """An archive as operations take it."""
    from tidewheel.commits.archive import ArchiveJob
    from tidewheel.commits.clock import now_us

    return ArchiveJob(location, file, clock or now_us, progress, Hands())


class Hands:
    """The hand that carries out each piece of work; none is imported before there is some."""

    def move(self, one: Try, plan: Plan, folder: str, lap: Lap) -> Work:
        return _spark().move(one, plan, folder, lap)

    def search(self, snapshot: Snapshot, selection: Selection, files: Sequence[FileFact]) -> Mapping[str, Hits]:
        return _spark().search(snapshot, selection, files)

    def key_digests(self, snapshot: Snapshot, keys: Sequence[tuple[str, ...]]) -> frozenset[str]:
        return _spark().key_digests(snapshot, keys)

    def sweep(self, job: ArchiveJob, selection: Selection, *, dry_run: bool) -> int:
        return _spark().sweep(job, selection, dry_run=dry_run)


def _spark() -> Hand:
    from tidewheel.jobs.hand import SparkHand

    return SparkHand()
