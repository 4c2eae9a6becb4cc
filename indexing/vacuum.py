"""Vacuum rules: which files nobody needs any more. Pure; who deletes hands in what lies there.

Somebody who opened the archive within grace may still read the version that was current then. So a version is
needed until grace has passed since the next one was committed, and a data file until grace has passed since the
commit that took it out. A file that no such version names and that is itself older than grace is not needed: it was
taken out long ago, or its attempt died. (An attempt may not outlive grace, so its uncommitted files are younger.)
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class StoredFile:
    """A file as the store lists it."""

    path: str
    bytes: int
    changed_us: int


def version_needed_min(committed_us: Mapping[int, int], newest: int, since_us: int) -> int:
    """The oldest version that was still current after a moment.

    >>> version_needed_min({0: 10, 1: 20, 2: 30}, newest=2, since_us=20)
    1
    """
    # Not by the order of the moments: a clock that was set back must not shorten anybody's grace.
    superseded = [version - 1 for version, at_us in committed_us.items() if at_us > since_us and version > 0]
    return min([newest, *superseded])


def unreferenced(files: Iterable[StoredFile], named: Collection[str]) -> list[StoredFile]:
    """The files that are not named; a checksum file (.name.crc) goes with the data file beside it."""
    return [file for file in files if _guarded(file.path) not in named]


def unneeded(files: Iterable[StoredFile], needed: Collection[str], since_us: int) -> list[StoredFile]:
    """The files that no needed version names and that have not changed since a moment."""
    return [file for file in unreferenced(files, needed) if file.changed_us <= since_us]


def log_unneeded(
    entries: Mapping[int, StoredFile],
    checkpoints: Mapping[int, StoredFile],
    *,
    needed_min: int,
    folded: Collection[int] | None,
    since_us: int,
) -> list[StoredFile]:
    """Log entries and checkpoints that may go: older than a moment, and before a checkpoint that suffices.

    That is the newest checkpoint from which the oldest needed version can be read. Entries go oldest first and
    without a gap, and none before the ledger has its receipt at a version that is kept (`folded` are the versions of
    the ledger's files; None where there are no receipts).
    """
    sufficient = max((version for version in checkpoints if version <= needed_min), default=None)
    if sufficient is None:
        return []
    keep_from = sufficient
    if folded is not None:
        keep_from = max((version for version in folded if version <= sufficient), default=0)
    gone = []
    for version, entry in sorted(entries.items()):
        if version >= keep_from or entry.changed_us > since_us:
            break
        gone.append(entry)
    old = (file for version, file in sorted(checkpoints.items()) if version < sufficient)
    return gone + [file for file in old if file.changed_us <= since_us]


def _guarded(path: str) -> str:
    """The data file that a checksum file belongs to."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/{name.removeprefix('.').removesuffix('.crc')}" if name.endswith(".crc") else path
