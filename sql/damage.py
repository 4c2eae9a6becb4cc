"""What lies behind a failed read: a file that is gone, cut short or unreadable, named; or a query that is wrong.

Files are looked into by `file_faults.py`, which is loaded when a read has failed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import duckdb

from tidewheel.indexing.core.state import FileFact
from tidewheel.indexing.errors import Damaged, InvalidInput, TidewheelError
from tidewheel.indexing.printable import one_line
from tidewheel.storage.machine import machine_fault
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


def _first(found: Iterable[TidewheelError | None]) -> TidewheelError | None:
    return next((one for one in found if one is not None), None)


def _raise_fault(snapshot: Snapshot, file: FileFact) -> None:
    from tidewheel.sql.file_faults import faulty_file

    if found := faulty_file(snapshot, [file]):
        raise found
