"""The files of a Delta log, by version: facts for vacuum that delta-rs does not give."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from tidewheel.indexing.errors import Damaged
from tidewheel.indexing.printable import one_line
from tidewheel.indexing.rules.vacuum import StoredFile, unreferenced, version_needed_min
from tidewheel.storage.location import LOG_FOLDER, Location
from tidewheel.storage.stored_files import stored_files

_ENTRY = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\.parquet")


@dataclass(frozen=True)
class LogFiles:
    """One listing of a log."""

    entries: Mapping[int, StoredFile]
    checkpoints: Mapping[int, StoredFile]
    temporary: tuple[StoredFile, ...]

    def needed_min(self, newest: int, since_us: int) -> int:
        """Return the oldest version that was still current after a moment, by the store's own clock."""
        return version_needed_min({v: entry.changed_us for v, entry in self.entries.items()}, newest, since_us)


def list_log(location: Location) -> LogFiles:
    """Return the files of the log. Cost: one listing of its folder."""
    entries, checkpoints, temporary = {}, {}, []
    for file in stored_files(location, LOG_FOLDER):
        name = file.path.rsplit("/", 1)[-1]
        if match := _ENTRY.fullmatch(name):
            entries[int(match[1])] = file
        elif match := _CHECKPOINT.fullmatch(name):
            checkpoints[int(match[1])] = file
        elif name.endswith(".tmp") or name.startswith("."):
            temporary.append(file)
    return LogFiles(entries, checkpoints, tuple(temporary))


def removed_after(location: Location, log: LogFiles, version: int) -> set[str]:
    """Return the data files that the entries after a version took out: its readers still need them.

    Cost: those entries.
    """
    return {path for at, entry in log.entries.items() if at > version for path in _removed(location, entry)}


def never_named(location: Location, log: LogFiles, gone: Sequence[StoredFile]) -> list[StoredFile]:
    """Return the unneeded files that no entry took out either: no commit ever brought them.

    Cost: the entries from the newest back to the one that explains the last of them.
    """
    left = list(gone)
    for _, entry in sorted(log.entries.items(), reverse=True):
        if not left:
            break
        left = unreferenced(left, set(_removed(location, entry)))
    return left


def _removed(location: Location, entry: StoredFile) -> Iterator[str]:
    try:
        for line in location.read_bytes(location.child(entry.path)).splitlines():
            if line.startswith(b'{"remove"'):
                yield unquote(json.loads(line)["remove"]["path"])
    except (OSError, ValueError, KeyError) as error:
        raise Damaged(
            f"the log entry {entry.path} cannot be read ({one_line(str(error))}), so it is not known which "
            "files its readers need",
            f"restore it from a copy; see what else is wrong: {location.command('audit')}",
        ) from error
