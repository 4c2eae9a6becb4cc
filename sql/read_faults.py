"""The cause of a failed read: a file that is gone, cut short or unreadable, named; or a wrong query.

Files are looked into by `file_faults.py`, which is loaded when a read has failed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import lru_cache

import duckdb

from tidewheel.indexing.core.state import FileFact
from tidewheel.indexing.errors import Damaged, InvalidInput, TidewheelError
from tidewheel.indexing.printable import one_line
from tidewheel.storage.location import Location
from tidewheel.storage.machine import machine_fault
from tidewheel.storage.piece_checksums import wrong_bytes
from tidewheel.storage.snapshot import Snapshot

# How DuckDB begins what it says of a page that it cannot decode; it does not name the file.
_OF_FILES = ("Invalid Error: ", "IO Error: ")


class FileGone(Damaged):
    """A file that the log names is not there."""


class VersionGone(InvalidInput):
    """A file is not there, and the newest version does not name it: vacuum was right to delete it."""


Opened = tuple[Snapshot, Sequence[FileFact]]


def explained(error: Exception, opened: Sequence[Opened], *, question: str = "") -> TidewheelError:
    """The error to raise for one that DuckDB or pyarrow raised. Cost: a look at each file that was to be read."""
    from tidewheel.sql.file_faults import faulty_file, undecodable_file

    named = ", ".join(f"version {one.version} of archive {one.definition.name}" for one, _ in opened)
    refused = machine_fault(str(error), f"while reading {named}")
    found = refused or _first(faulty_file(*one) for one in opened)
    if found is None and str(error).startswith(_OF_FILES):
        found = _first(undecodable_file(*one) for one in opened)
    if found is not None:
        return found
    # No file is at fault, though DuckDB says IO Error of values as well.
    if question and isinstance(error, duckdb.Error):
        shown = "live" if len(opened) == 1 else "NAME"
        return InvalidInput(
            f"the query {question!r} failed: {one_line(str(error))}", f"see the columns: DESCRIBE {shown}"
        )
    return Damaged(
        f"{named} cannot be read: {one_line(str(error))}",
        "find what is damaged: " + ", ".join(f"{one.location.command('audit')}" for one, _ in opened),
    )


def refuse_replaced(snapshot: Snapshot, files: Sequence[FileFact]) -> None:
    """Refuse files of another size than the log says. Cost: a look at each.

    On object stores a look is a request: there pyarrow is told the size, and finds no footer in any other file.
    """
    if not snapshot.location.is_local:
        return
    for file in files:
        try:
            size = os.stat(snapshot.location.child(file.path)).st_size
        except OSError:
            continue  # the read itself says what is wrong
        if size != file.bytes:
            _raise_fault(snapshot, file)


def refuse_changed(snapshot: Snapshot, files: Sequence[FileFact]) -> None:
    """Refuse files of a derived archive that are not byte for byte what was written.

    DuckDB looks at no checksum of a page, and a sum of answers has no hash of its own in sight. Cost: every byte, once
    in a process for each file; on object stores, which keep checksums of their own, nothing.
    """
    if not snapshot.location.is_local or not snapshot.definition.derived:
        return
    for file in files:
        path = snapshot.location.child(file.path)
        if os.path.exists(path) and (wrong := _wrong_bytes(snapshot.location, file, os.stat(path).st_mtime_ns)):
            raise Damaged(
                f"the file {path} cannot be read: bytes {wrong[0]} to {wrong[1]} are not those that were written",
                f"find all that is damaged: {snapshot.location.command('audit')}",
                path=file.path,
            )


@lru_cache(maxsize=10_000)
def _wrong_bytes(location: Location, file: FileFact, _written_ns: int) -> tuple[int, int] | None:
    return wrong_bytes(location, file)


def _first(found: Iterable[TidewheelError | None]) -> TidewheelError | None:
    return next((one for one in found if one is not None), None)


def _raise_fault(snapshot: Snapshot, file: FileFact) -> None:
    from tidewheel.sql.file_faults import faulty_file

    if found := faulty_file(snapshot, [file]):
        raise found
