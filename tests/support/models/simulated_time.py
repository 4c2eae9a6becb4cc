"""An archive whose hours pass as fast as they can be computed: the files of each step get the step's moment.

Vacuum tells ages by the store's clock, which is the moment of a file. So after every operation what it wrote is
dated to the simulated present; everything else is real.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.support.archives.byte_search import Value, holders
from tests.support.archives.small_archive import HOUR_US, SmallArchive
from tidewheel.commits.operations.forget import forget
from tidewheel.commits.vacuum.vacuum import vacuum
from tidewheel.indexing.core.definition import ArchiveFile, Clock, Retention
from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.core.slots import TimeAxis, iso
from tidewheel.indexing.rules.deadline import Deadline, deadline_of

START_SLOT = 500_000  # a moment in 2027: later than any file that was just written
RETENTION = Retention(HOUR_US, 2 * HOUR_US, 4 * HOUR_US, 3 * HOUR_US)


@dataclass
class TimedArchive(SmallArchive):
    """Hourly slots by the wall clock; `due` are the values that must be gone, with the moment that was stated."""

    clock: Clock = Clock.WALL
    axis: TimeAxis = field(default_factory=lambda: TimeAxis(HOUR_US))
    pending: dict[Record, int] = field(default_factory=dict)
    due: dict[Value, int] = field(default_factory=dict)
    searched: int = 0
    seen_before: int = 0

    @property
    def file(self) -> ArchiveFile:
        return replace(super().file, retention=RETENTION)

    @property
    def root(self) -> Path:
        return Path(self.job.location.uri)

    def at(self, now_us: int) -> None:
        """The present moves on; what expired meanwhile gets the deadline that status states at its expiry."""
        self.now_us = now_us
        expired = [record for record, valid_until in self.pending.items() if valid_until <= now_us]
        for record in expired:
            gone_us = self.deadline(self.pending.pop(record)).gone_us
            self.owe(record, gone_us)

    def deadline(self, from_us: int) -> Deadline:
        snapshot = self.snapshot()
        definition = snapshot.definition
        numbers = {file.generation for file in snapshot.files} | {definition.current.number}
        return deadline_of(definition, [definition.generation(number) for number in numbers], from_us)

    def owe(self, record: Record, gone_us: int) -> None:
        for value in (str(record.key), record.body):
            assert isinstance(value, (str, int))
            self.due[value] = min(gone_us, self.due.get(value, gone_us))

    def track(self, records: Iterable[Record]) -> None:
        self.pending |= {record: self.times_us(record)[1] for record in records}

    def forget_key(self, record: Record) -> None:
        """From here on the record's key is owed, and so are all records that bear it."""
        forget(self.job, keys=[(str(record.key),)])
        self.oracle.forget(lambda one: one.key == record.key)
        stated = self.deadline(self.now_us)
        # Forgotten at once: neither a slot's end nor a strategy is waited for.
        after = ("grace", "hold", "log retention", "vacuum")
        waits = [sum(part.duration_us for part in steps if part.name in after) for steps in (stated.data, stated.log)]
        gone_us = self.now_us + max(waits)
        self.owe(record, gone_us)
        self.date()

    def vacuum(self) -> None:
        vacuum(self.job)
        self.date()

    def date(self) -> None:
        """What was written since the last call, now."""
        start_s, now_s = self.axis.start_us(START_SLOT) / 1e6, self.now_us / 1e6
        for path in self.root.rglob("*"):
            if path.is_file() and path.stat().st_mtime < start_s:
                os.utime(path, (now_s, now_s))

    def nothing_overdue(self) -> None:
        """Search every file for every value whose stated moment has come."""
        self.searched += sum(gone_us <= self.now_us for gone_us in self.due.values())
        found = holders(self.root, self.due)
        late = {
            value: (iso(self.due[value]), paths) for value, paths in found.items() if self.due[value] <= self.now_us
        }
        self.seen_before += len(found) - len(late)
        assert not late, f"at {iso(self.now_us)} the archive still holds {late}"
