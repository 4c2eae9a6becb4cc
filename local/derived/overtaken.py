"""If two refreshes run at once, the one with the older view notices it, compares again, and overwrites nothing newer.

A refresh looks at partials and answers before it reads the source, so they were made of nothing newer by then. If
another refresh commits to them afterwards and the source has moved on, they may know more. The same holds if another
refresh followed an undo of the source: slots have left that this one would still write.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.attempt import Outcome
from tidewheel.storage.snapshot import Snapshot


class Overtaken(Exception):
    """Somebody else has refreshed since, and may know more of the source."""


@dataclass
class KnownVersions:
    """The versions one refresh knows: of the source, and of the derived archives before it read the source."""

    source: ArchiveJob
    derived: Sequence[ArchiveJob]
    version: int = field(init=False)
    # By place, version and watermark; of this refresh's own commits as well.
    known: dict[str, tuple[int, int | None]] = field(init=False)

    def __post_init__(self) -> None:
        snapshots = [job.snapshot() for job in self.derived]
        self.known = {one.location.uri: (one.version, one.watermark) for one in snapshots}
        self.version = self.source.snapshot().version

    def checked(self, job: ArchiveJob) -> Snapshot:
        """The newest version of a derived archive."""
        snapshot = job.snapshot()
        self.check(snapshot)
        return snapshot

    def check(self, snapshot: Snapshot) -> None:
        """Raise where a derived archive may hold what was made of a newer source, or went back."""
        version, watermark = self.known[snapshot.location.uri]
        if snapshot.version == version:
            return
        went_back = watermark is not None and (snapshot.watermark is None or snapshot.watermark < watermark)
        if went_back or self.source.snapshot().version != self.version:
            raise Overtaken

    def went_on(self, job: ArchiveJob, outcome: Outcome | None) -> None:
        """A commit of this refresh's own."""
        if outcome is not None and outcome.version is not None and outcome.receipt is not None:
            self.known[job.location.uri] = (outcome.version, outcome.receipt.watermark)
