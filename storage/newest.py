"""The newest version of tables that are opened again and again: as long as nobody commits, it is opened once.

Nobody has committed if the log's entry of that version is the one that was there and there is no next one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tidewheel.storage.location import ListedFile, Location
from tidewheel.storage.remembered import told_of
from tidewheel.storage.snapshot import Snapshot, open_snapshot


@dataclass(frozen=True)
class Newest:
    """The snapshots of a few tables, for one who works on them for a while."""

    _opened: dict[str, tuple[Snapshot, ListedFile]] = field(default_factory=dict)

    def of(self, location: Location) -> Snapshot:
        """The newest snapshot. Cost: a look at two entries of the log, or opening the table."""
        known = self._opened.get(location.uri)
        if known is not None and self._entries(location, known[0].version) == [known[1], None]:
            return known[0]
        snapshot = open_snapshot(location)
        entry, _ = self._entries(location, snapshot.version)
        if entry is not None:
            self._opened[location.uri] = (snapshot, entry)
        return snapshot

    def has_opened(self, location: Location) -> bool:
        """Whether a table that was opened is still there."""
        known = self._opened.get(location.uri)
        return known is not None and self._entries(location, known[0].version)[0] == known[1]

    def _entries(self, location: Location, version: int) -> list[ListedFile | None]:
        return told_of(location, [location.child(f"_delta_log/{at:020d}.json") for at in (version, version + 1)])
