"""When an archive was last looked after, and what came of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tidewheel.indexing.core.slots import iso


@dataclass(frozen=True)
class Vacuumed:
    """The last vacuum: what it deleted."""

    at_us: int
    version: int
    files: int
    bytes: int

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "at": iso(self.at_us)}


@dataclass(frozen=True)
class Audited:
    """The last audit: what it found. The version is missing if the archive could not be opened."""

    at_us: int
    version: int | None
    findings: int
    deep: bool

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "at": iso(self.at_us)}
