"""What lies behind a failed read: a file that is gone, cut short or unreadable, named; or a query that is wrong."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from tidewheel.indexing.errors import Damaged, InvalidInput, TidewheelError
from tidewheel.indexing.state import FileFact
from tidewheel.storage.machine import machine_fault
from tidewheel.storage.snapshot import Snapshot, open_snapshot

# How DuckDB begins what it says of a page that it cannot decode; it does not name the file.
_OF_FILES = ("Invalid Error: ", "IO Error: ")


class FileGone(Damaged):
    """A file that the log names is not there."""


class VersionGone(InvalidInput):
    """A file is not there, and the newest version does not name it: vacuum was right to delete it."""


Opened = tuple[Snapshot, Sequence[FileFact]]


def explained(error: Exception, opened: Sequence[Opened], *, question: str = "") -> TidewheelError:
    """The error to raise for one that DuckDB or pyarrow raised. Cost: a look at each file that was to be read."""
    named = ", ".join(f"version {one.version} of archive {one.definition.name}" for one, _ in opened)
    refused = machine_fault(str(error), f"while reading {named}")
    found = refused or _first(_faulty_file(*one) for one in opened)
    if found is None and str(error).startswith(_OF_FILES):
        found = _first(_undecodable_file(*one) for one in opened)
    if found is not None:
        return found
    if question and isinstance(error, duckdb.Error) and not isinstance(error, duckdb.IOException):
        shown = "live" if len(opened) == 1 else "NAME"
        return InvalidInput(f"the query {question!r} failed: {error}", f"see the columns: DESCRIBE {shown}")
    return Damaged(
        f"{named} cannot be read: {error}",
        "find what is damaged: " + ", ".join(f"tidewheel audit {one.location.uri}" for one, _ in opened),
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
        if size != file.bytes and (found := _faulty_file(snapshot, [file])):
            raise found


def _first(found: Iterable[TidewheelError | None]) -> TidewheelError | None:
    return next((one for one in found if one is not None), None)


def _faulty_file(snapshot: Snapshot, files: Sequence[FileFact]) -> TidewheelError | None:
    location = snapshot.location
    infos = location.filesystem.get_file_info([location.child(one.path) for one in files])
    for file, info in zip(files, infos, strict=True):
        named = f"the file {info.path} of archive {snapshot.definition.name}, version {snapshot.version},"
        if info.type is not fs.FileType.File:
            return _gone(snapshot, file, f"{named} is gone, but the log says it is there")
        if info.size != file.bytes:
            said = f"{named} has {info.size} bytes, the log says {file.bytes}"
            return Damaged(said, _audit(snapshot), path=file.path)
    for file, info in zip(files, infos, strict=True):
        fault = _footer_fault(location.filesystem, info.path)
        if fault:
            return Damaged(f"the file {info.path} cannot be read: {fault}", _audit(snapshot), path=file.path)
    return None


def _gone(snapshot: Snapshot, file: FileFact, said: str) -> FileGone | VersionGone:
    newest = open_snapshot(snapshot.location)
    if newest.version <= snapshot.version or file.path in {fact.path for fact in newest.files}:
        return FileGone(said, _audit(snapshot), path=file.path)
    return VersionGone(
        f"version {snapshot.version} of archive {snapshot.definition.name} cannot be read any more: its "
        "files have outlived the grace period and were vacuumed",
        "read a later version, or give a longer [retention] grace next time",
    )


def _undecodable_file(snapshot: Snapshot, files: Sequence[FileFact]) -> Damaged | None:
    """The first file with a page that cannot be decoded. Cost: reading the files, a row group at a time."""
    location = snapshot.location
    for file in files:
        path = location.child(file.path)
        try:
            with location.filesystem.open_input_file(path) as source, pq.ParquetFile(source) as parquet:
                for group in range(parquet.num_row_groups):
                    parquet.read_row_group(group, use_threads=False)
        except (OSError, pa.ArrowException) as error:
            return Damaged(f"the file {path} cannot be read: {error}", _audit(snapshot), path=file.path)
    return None


def _audit(snapshot: Snapshot) -> str:
    return f"find all that is damaged: tidewheel audit {snapshot.location.uri}"


def _footer_fault(filesystem: fs.FileSystem, path: str) -> str:
    try:
        pq.read_metadata(path, filesystem=filesystem)
    except (OSError, pa.ArrowException) as error:
        return str(error)
    return ""
