"""The errors of decoding a file with wrong bytes, whoever wrote them: told as damage, with its name and a command."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from tidewheel.indexing.errors import Damaged, TidewheelError
from tidewheel.indexing.printable import one_line
from tidewheel.storage.location import Location
from tidewheel.storage.machine import machine_fault

# A flipped bit makes names that are no text and numbers that are too large. Want of memory is the machine's.
READ_ERRORS = (OSError, pa.ArrowException, UnicodeDecodeError, OverflowError, zlib.error)


@contextmanager
def decoding(location: Location, path: str) -> Iterator[None]:
    """Around what reads one file of an archive, which the newest version need not name."""
    try:
        yield
    except READ_ERRORS as error:
        raise unreadable(location, path, error) from error


def unreadable(location: Location, path: str, error: Exception) -> TidewheelError:
    """The error to raise for one that decoding a file raised."""
    said = gist(error)
    return machine_fault(said, f"while reading {path}") or Damaged(
        f"the file {location.child(path)} cannot be read: {said}",
        f"find all that is damaged: {location.command('audit')}",
        path=path,
    )


def gist(error: Exception) -> str:
    return one_line(str(error)) or type(error).__name__
