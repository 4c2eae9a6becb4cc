"""An archive in Python: `tidewheel.open` and the methods of what it gives.

    archive = tidewheel.open("netflow")
    archive.update("2026-11-18T10:00Z")                              # one slot: Spark computes, one commit
    archive.probe("10.0.0.7", columns=["bytes"]).rows()              # one key: DuckDB, milliseconds
    archive.scan("bytes > 1000000").arrow()                          # all live records that match
    archive.sql("select plan, count(*) from live group by plan").dicts()

Each method hands on to the room that does the work; nothing heavy is imported before it is needed, so reading
never starts Spark. Moments are ISO text with a zone, dates (midnight UTC), or datetimes with a zone.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tidewheel.looking import Looking
from tidewheel.reading import Reading
from tidewheel.resolve import resolve
from tidewheel.writing import Writing

if TYPE_CHECKING:
    pass


def open(name: str | Path, *, progress: Callable[[str], None] | None = None) -> Archive:
    """The archive of a name (archives/<name>.toml), of an archive file's path, or of a table's path.

    Nothing is read yet but the archive file. `progress` is called with a few words at each step of long work.
    """
    return Archive(resolve(name), progress=progress)


class Archive(Reading, Writing, Looking):
    """One archive: read it, bring batches into it, look after it."""
