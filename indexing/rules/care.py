"""The care of an archive: how often it is maintained, when it last was, and with what result."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tidewheel.indexing.core.slots import iso

COMMITS_MIN, COMMITS_MAX = 10, 100
KEPT_A_COMMIT = 10_000


def commits_between(files: int, slots: int) -> int:
    """Return after how many commits receipts are folded and a checkpoint is written.

    Both write down all that is alive, so a large archive has them more rarely. Opening it then reads more log entries
    instead, which are few beside what it reads anyway.

    >>> commits_between(666, 36), commits_between(400_000, 10_000), commits_between(10**6, 10**5)
    (10, 41, 100)
    """
    return min(max(COMMITS_MIN, (files + slots) // KEPT_A_COMMIT), COMMITS_MAX)


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
