"""Batches whose files are not there yet: of sources that are files, whose paths follow from the slots."""

from __future__ import annotations

from collections.abc import Sequence
from glob import glob, has_magic

from tidewheel.indexing.archive_file.source_paths import path_for_slot
from tidewheel.indexing.core.definition import ArchiveFile, SourceKind
from tidewheel.storage.location import Location


def absent_batches(file: ArchiveFile, slots: Sequence[int]) -> list[tuple[int, str]]:
    """Return the slots whose files are missing, with the paths checked; none for sources that nobody waits for."""
    if file.source.kind is not SourceKind.FILES or file.source.missing == "empty":
        return []
    axis = file.axis
    paths = [(slot, path_for_slot(file.source.path, axis.start_us(slot), axis.end_us(slot), slot)) for slot in slots]
    return [(slot, path) for slot, path in paths if not _is_there(path)]


def _is_there(path: str) -> bool:
    """Tell whether a path names a file or a folder; patterns that only Hadoop reads are left to Spark."""
    remote = "://" in path
    if "{" in path or "\\" in path or (remote and has_magic(path)):
        return True
    if has_magic(path):
        return bool(glob(path))
    location = Location.of(path)
    return bool(location.filesystem.get_file_info(location.root).type)
