"""The files that lie in an archive's folder, whether the log knows them or not."""

from __future__ import annotations

import re

from tidewheel.indexing.core.fates import FATES
from tidewheel.indexing.rules.vacuum import StoredFile
from tidewheel.storage.location import Location

# The folders that attempts write into: run-20261118T100000-1f3a5c7e0b2d-1.
_ATTEMPT_FOLDER = re.compile(r"run-\d{8}T\d{6}-[0-9a-f]+-\d+")


def stored_files(location: Location, below: str = "") -> list[StoredFile]:
    """Return every file below a folder, with paths as the log writes them. Cost: one listing."""
    return [
        StoredFile(location.relative(info.path), info.size or 0, (info.mtime_ns or 0) // 1000)
        for info in location.files_below(below)
    ]


def attempt_folder(path: str) -> str | None:
    """Return the folder of the attempt that wrote a file, or None if no attempt did."""
    folder = path.split("/", 1)[0]
    return folder if _ATTEMPT_FOLDER.fullmatch(folder) else None


def is_scratch(path: str) -> bool:
    """Tell whether a file holds records that Spark wrote aside, unstored; no commit names such a file."""
    return f"/layout={FATES}/" in path
