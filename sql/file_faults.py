"""The search for the file that makes a version unreadable.

Cost: a look at each, the content of those that look well.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow.parquet as pq
from pyarrow import fs

from tidewheel.indexing.core.state import FileFact
from tidewheel.indexing.errors import Damaged, TidewheelError
from tidewheel.sql.read_faults import FileGone, VersionGone
from tidewheel.storage.decoding import READ_ERRORS, gist
from tidewheel.storage.location import Location
from tidewheel.storage.piece_checksums import wrong_bytes
from tidewheel.storage.snapshot import Snapshot, open_snapshot


def faulty_file(snapshot: Snapshot, files: Sequence[FileFact]) -> TidewheelError | None:
    """Return the fault of the first of these files that is gone, of another size or without a footer."""
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


def undecodable_file(snapshot: Snapshot, files: Sequence[FileFact]) -> Damaged | None:
    """The first file with a page that cannot be decoded or is not the one that was written.

    Cost: reading the files, a row group at a time; on a local disk once more, for what no page is.
    """
    location = snapshot.location
    for file in files:
        path = location.child(file.path)
        if fault := _content_fault(location, file, path):
            return Damaged(f"the file {path} cannot be read: {fault}", _audit(snapshot), path=file.path)
    return None


def _content_fault(location: Location, file: FileFact, path: str) -> str:
    try:
        source = location.filesystem.open_input_file(path)
        with source, pq.ParquetFile(source, page_checksum_verification=True) as parquet:
            for group in range(parquet.num_row_groups):
                parquet.read_row_group(group, use_threads=False)
        wrong = wrong_bytes(location, file)
    except READ_ERRORS as error:
        return gist(error)
    return f"bytes {wrong[0]} to {wrong[1]} are not those that were written" if wrong else ""


def _audit(snapshot: Snapshot) -> str:
    return f"find all that is damaged: {snapshot.location.command('audit')}"


def _footer_fault(filesystem: fs.FileSystem, path: str) -> str:
    try:
        pq.read_metadata(path, filesystem=filesystem)
    except READ_ERRORS as error:
        return gist(error)
    return ""
