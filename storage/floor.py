"""Vacuum and undo side by side: an undo never brings back what a vacuum deletes, whatever their clocks say.

Each leaves a mark before it looks for the other's, so at least one of them sees the other:

- Vacuum raises its floor, the oldest version that it leaves whole, then looks for undos under way. It stops them by a
  fence (`commits/operations/fence.py`) before it decides what goes.
- An undo opens the newest version, announces itself, then looks at the floor, and goes back no further.

The marks are empty files, `_tidewheel/floor/<version>` and `_tidewheel/undo/<attempt>`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tidewheel.indexing.errors import OutcomeUnknown, TidewheelError
from tidewheel.storage.address import SIDE_FOLDER
from tidewheel.storage.location import Location

FLOORS = f"{SIDE_FOLDER}/floor"
UNDOS = f"{SIDE_FOLDER}/undo"


def floor(location: Location) -> int:
    """Return the oldest version that every vacuum so far has left whole. Cost: one listing."""
    return max(_floors(location), default=0)


def raise_floor(location: Location, version: int) -> None:
    """Leave the mark; it never goes down, also if another vacuum's clock is behind."""
    known = _floors(location)
    if version <= max(known, default=0):
        return
    location.write_bytes(location.child(_mark(version)), b"")
    # The highest that was there stays: whoever is listing just now finds that one or the new one.
    withdraw(location, [_mark(older) for older in sorted(known)[:-1]])


@contextmanager
def announced(location: Location, attempt: str) -> Iterator[None]:
    """Announce an undo under way.

    If its process dies or its commit may still arrive, the mark stays for the next vacuum.
    """
    mark = f"{UNDOS}/{attempt}"
    location.write_bytes(location.child(mark), b"")
    try:
        yield
    except TidewheelError as error:
        if not isinstance(error, OutcomeUnknown):
            withdraw(location, [mark])
        raise
    # The undo is committed by now, whatever becomes of its mark: the next vacuum takes it.
    with suppress(OSError):
        withdraw(location, [mark])


def undos(location: Location) -> list[str]:
    """Return the marks of undos under way. Cost: one listing."""
    return [location.relative(info.path) for info in location.files_below(UNDOS)]


def _floors(location: Location) -> list[int]:
    return [int(info.base_name) for info in location.files_below(FLOORS) if info.base_name.isdigit()]


def _mark(version: int) -> str:
    return f"{FLOORS}/{version:020d}"


def withdraw(location: Location, marks: list[str]) -> None:
    """Delete marks: of undos that cannot commit any more, or of floors below a higher one."""
    for mark in marks:
        location.delete(mark)
