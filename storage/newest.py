"""The newest version of tables that are asked for repeatedly: each is opened once, and followed from then on.

Nobody has committed if the log's entry of the known version is unchanged and there is no next one. If somebody has, the
entries since tell the next version. If they do not, or if the known entry changed, the table is opened again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tidewheel.storage.followed import follow
from tidewheel.storage.location import ListedFile, Location
from tidewheel.storage.remembered import told_of
from tidewheel.storage.snapshot import Snapshot, open_snapshot


@dataclass(frozen=True)
class Newest:
    """The snapshots of a few tables, for somebody who works on them for a while."""

    _opened: dict[str, tuple[Snapshot, ListedFile]] = field(default_factory=dict)

    def of(self, location: Location) -> Snapshot:
        """Return the newest snapshot. Cost: a look at two log entries and reading those since, or opening the table."""
        snapshot = self._followed(location) or open_snapshot(location)
        entry, _ = entries_from(location, snapshot.version)
        if entry is not None:
            self._opened[location.uri] = (snapshot, entry)
        return snapshot

    def _followed(self, location: Location) -> Snapshot | None:
        """Return the newest version, followed from the open one; None if the table has to be opened again."""
        known = self._opened.get(location.uri)
        if known is None:
            return None
        entry, later = entries_from(location, known[0].version)
        if entry != known[1]:
            return None
        return known[0] if later is None else follow(known[0])

    def has_opened(self, location: Location) -> bool:
        """Tell whether a table that was opened is still there."""
        known = self._opened.get(location.uri)
        return known is not None and entries_from(location, known[0].version)[0] == known[1]


def entries_from(location: Location, version: int) -> list[ListedFile | None]:
    """Return the listing of two log entries: of a version and of the next one. Cost: a look at both."""
    return told_of(location, [location.child(f"_delta_log/{at:020d}.json") for at in (version, version + 1)])
