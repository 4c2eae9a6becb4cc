"""The table as attempts and vacuum need it: opened at a version, its files listed, its log replaced by checkpoints.

It opens a `Snapshot`, which makes the next entry of the log if nobody was first, and reads receipts; files are listed
and deleted through its `Location`. Everything that an operation does to an archive passes through these three, a clock
and a hand, so an archive in memory runs the same code (`tests/simulator/`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from deltalake import Field

from tidewheel.indexing.core.state import FileFact
from tidewheel.indexing.rules.vacuum import StoredFile
from tidewheel.storage.entry import NewFile
from tidewheel.storage.snapshot import Snapshot


class Queue(Protocol):
    """A writer's place among those who lost a race (`storage/lease.py`)."""

    def queue_if_others_wait(self) -> None: ...

    def take(self) -> None: ...

    def release(self) -> None: ...


class Table(Protocol):
    """One archive's table."""

    def open(self, version: int | None = None) -> Snapshot:
        """Return the newest version, or the one asked for."""

    def name_attempt(self, now_us: int) -> str:
        """Return a name that no other attempt has."""

    def queue(self, attempt: str, clock: Callable[[], int]) -> Queue:
        """Return the place of an attempt in the queue of writers."""

    def check_files(self, files: Sequence[FileFact]) -> None:
        """Refuse files that are missing or not of the size the log says."""

    def as_written(self, snapshot: Snapshot, files: Sequence[FileFact]) -> list[NewFile]:
        """Return files of a version as their attempts committed them; refuse them if they cannot be read."""

    def statistics_to_state(self, snapshot: Snapshot, new: Sequence[Field], files: Sequence[NewFile]) -> str | None:
        """Return the statement of statistics that the table needs before new columns and files; None if it has it."""

    def write_checkpoint(self, snapshot: Snapshot) -> None:
        """Write a checkpoint at the version, unless there is one."""

    def check_checkpoint(self, checkpoint: StoredFile) -> None:
        """Refuse to clean the log before a checkpoint that cannot be read."""
