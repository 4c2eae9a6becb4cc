"""The report of a vacuum, by kind of file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tidewheel.indexing.rules.vacuum import Hold, StoredFile

# Files of side tables are counted under the names of these.
DATA, LOG_FILES, LEASE, HOLD, TEMPORARY = "data", "log", "lease", "hold", "temporary"


@dataclass
class VacuumReport:
    """The files deleted (or, on a dry run, to be deleted), by kind, and those that have to wait."""

    version: int
    dry_run: bool
    files: dict[str, int] = field(default_factory=dict)
    bytes: dict[str, int] = field(default_factory=dict)
    awaiting_files: int = 0
    awaiting_bytes: int = 0
    folders: int = 0
    side_rows: dict[str, int] = field(default_factory=dict)  # by side table
    holds: tuple[Hold, ...] = ()
    held_files: int = 0
    held_bytes: int = 0

    @property
    def quarantined_records(self) -> int:
        return self.side_rows.get("quarantine", 0)

    def count(self, kind: str, files: Sequence[StoredFile]) -> None:
        self.files[kind] = self.files.get(kind, 0) + len(files)
        self.bytes[kind] = self.bytes.get(kind, 0) + sum(file.bytes for file in files)

    def to_json(self) -> dict[str, Any]:
        return {
            **self.__dict__,
            "files": dict(self.files),
            "bytes": dict(self.bytes),
            "quarantined_records": self.quarantined_records,
            "holds": [one.to_json() for one in self.holds],
        }
