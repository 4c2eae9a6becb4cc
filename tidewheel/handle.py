"""The base of an archive's methods: its location, its file, its slots, and the ways into the rooms."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from tidewheel.hands import archive_job
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.moments import Moment, moment_us
from tidewheel.resolve import Target, archives_folder

if TYPE_CHECKING:
    from tidewheel.commits.archive import ArchiveJob
    from tidewheel.sql.reader import Reader
    from tidewheel.standing import StandingQueries
    from tidewheel.storage.location import Location
    from tidewheel.storage.snapshot import Snapshot


class Handle:
    """An archive that was named, and nothing read of it yet but its file."""

    def __init__(
        self,
        target: Target,
        *,
        clock: Callable[[], int] | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self.path = target.path
        self.file = target.file
        self.source = target.source
        self.called = target.called if target.file or target.source else ""
        self.folder = target.folder or archives_folder()
        self._axis = target.file.axis if target.file else None
        self._clock = clock
        self._progress = progress

    def __repr__(self) -> str:
        # By a table's path alone its name is not known before the table is read.
        name = self.file.name if self.file else self.called
        return f"<Archive{f' {name}' * bool(name)} at {self.path}>"

    def slots(self, start: Moment, end: Moment | None = None) -> range:
        """The slot that starts at a moment, or the slots of [start, end)."""
        axis = self.axis
        start_us = moment_us(start)
        return axis.slots_between(start_us, start_us + axis.interval_us if end is None else moment_us(end))

    @property
    def axis(self) -> TimeAxis:
        if self._axis is None:
            self._axis = self.snapshot().definition.axis
        return self._axis

    @cached_property
    def location(self) -> Location:
        from tidewheel.storage.location import Location

        return Location.of(self.path)

    @cached_property
    def job(self) -> ArchiveJob:
        """The archive as the jobs take it."""
        progress = self._progress or (lambda step: None)
        return archive_job(self.location, self.file, clock=self.now_us, progress=progress, called=self.called)

    @cached_property
    def reader(self) -> Reader:
        """The open handle that reads go through; it follows the newest version."""
        from tidewheel.sql.reader import Reader

        return Reader.open(self.location, now_us=self.now_us)

    @cached_property
    def queries(self) -> StandingQueries:
        """The standing queries of the archive: `archive.queries.refresh()`, `archive.queries.ask("top_talkers")`."""
        from tidewheel.standing import StandingQueries

        return StandingQueries(self)

    def snapshot(self) -> Snapshot:
        """The newest version of the table."""
        from tidewheel.storage.snapshot import open_snapshot

        found = open_snapshot(self.location)
        self._axis = found.definition.axis  # what was done can be shown then, whether the store is still there or not
        return found

    def now_us(self) -> int:
        if self._clock is not None:
            return self._clock()
        from tidewheel.commits.clock import now_us

        return now_us()
