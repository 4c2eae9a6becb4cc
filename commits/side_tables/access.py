"""Reads and changes of a side table, with failures told apart: somebody else was first, the store, or damage.

Damage means that it was read and found wrong twice, while the archive beside it is there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from deltalake.exceptions import DeltaError
from pyarrow import ArrowException

from tidewheel.indexing.errors import Conflict, Damaged, Unavailable
from tidewheel.indexing.printable import one_line
from tidewheel.storage.location import LOG_FOLDER, Location
from tidewheel.storage.machine import machine_fault

CHANGES_MAX = 10
READS_MAX = 2
Made = TypeVar("Made")


@dataclass(frozen=True)
class Access:
    """One side table of an archive, by its name and place."""

    name: str
    archive: Location
    place: Location
    lost: Callable[[], str]  # the slots that had rows in it, as a backfill takes them

    def read(self, piece: Callable[[], Made]) -> Made:
        """Read, and once more before it is called damage: the store may just have come back."""
        for left in reversed(range(READS_MAX)):
            try:
                return piece()
            except (DeltaError, OSError, ArrowException) as error:
                self._refuse_unreachable(error)
                if not left:
                    raise self.damaged(error) from error
        raise AssertionError("the last try returns or raises")

    def change(self, piece: Callable[[], Made], before_again: Callable[[], None] = lambda: None) -> Made:
        """Change, and again where another writer changed the table at the same moment."""
        for left in reversed(range(CHANGES_MAX)):
            try:
                return piece()
            except (DeltaError, OSError) as error:
                self._refuse_unreachable(error)
                if not left:
                    raise Conflict(
                        f"the {self.name} at {self.place.uri} could not be changed in {CHANGES_MAX} tries: "
                        f"{one_line(str(error))}",
                        "run the command again; if it fails again, look at the table's folder",
                    ) from error
                before_again()
        raise AssertionError("the last try returns or raises")

    def refuse_absent_archive(self) -> None:
        """Refuse to take a table for one that never was while the archive's own log is not there either."""
        try:
            is_there = bool(self.archive.names_in(LOG_FOLDER))
        except OSError as error:
            raise self._unavailable(one_line(str(error))) from error
        if not is_there:
            raise self._unavailable("the archive's folder is not there at the moment")

    def damaged(self, error: Exception) -> Damaged:
        """Return the error that names the files at fault, where these can be told."""
        from tidewheel.storage.log_faults import table_faults

        return Damaged(
            f"the {self.name} at {self.place.uri} cannot be read: "
            f"{'; '.join(table_faults(self.place)) or one_line(str(error))}",
            f"bring the slots that had records in it again: {self.place.aside_command()} && "
            f"tidewheel backfill ARCHIVE {self.lost()}",
        )

    def _refuse_unreachable(self, error: Exception) -> None:
        fault = machine_fault(str(error), f"while working on the {self.name} at {self.place.uri}")
        if fault is not None:
            raise fault from error
        self.refuse_absent_archive()

    def _unavailable(self, said: str) -> Unavailable:
        return Unavailable(
            f"the {self.name} at {self.place.uri} cannot be reached: {said}. Nothing was changed",
            "see that the store is there, then run the command again",
        )
