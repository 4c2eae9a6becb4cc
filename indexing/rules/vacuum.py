"""Vacuum rules: which files nobody needs any more. Pure; who deletes hands in what lies there.

Somebody who opened the archive within grace may still read the version that was current then. So a version is
needed until grace has passed since the next one was committed, and a data file until grace has passed since the
commit that took it out. A file that no such version names and that is itself older than grace is not needed: it was
taken out long ago, or its attempt died. (An attempt may not outlive grace, so its uncommitted files are younger.)
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Any

from tidewheel.indexing.core.joining import join_count
from tidewheel.indexing.core.slots import iso

# A hold is renewed ten times as often; what was not for so long belongs to a reader that died or sleeps.
HOLD_STALE_US = 600 * 10**6
# Ledger files that nobody opens the archive by any more: how many stay, but for those that hold so many receipts.
JOINED_MAX = 8
JOINED_COMMITS_MAX = 10_000


@dataclass(frozen=True)
class StoredFile:
    """A file as the store lists it."""

    path: str
    bytes: int
    changed_us: int


@dataclass(frozen=True)
class Hold:
    """A reader's claim on a version beyond grace; `renewed_us` is the moment of its file."""

    holder: str
    version: int
    until_us: int
    renewed_us: int

    def to_json(self) -> dict[str, Any]:
        times = {"until": iso(self.until_us), "renewed": iso(self.renewed_us)}
        return {"holder": self.holder, "version": self.version, **times}


def holds_in_force(holds: Iterable[Hold], now_us: int, version_min: int) -> list[Hold]:
    """Return the holds that are not over and whose version is not past its maximum, the oldest version first.

    >>> live, over, dead = Hold("a", 7, 50, 40), Hold("b", 8, 30, 40), Hold("c", 9, 50, 40 - HOLD_STALE_US)
    >>> [hold.holder for hold in holds_in_force([dead, over, live], 40, 5)], holds_in_force([live], 40, 8)
    (['a'], [])
    """
    live = (one for one in holds if one.until_us > now_us and one.renewed_us + HOLD_STALE_US > now_us)
    return sorted((one for one in live if one.version >= version_min), key=lambda one: (one.version, one.holder))


def version_needed_min(committed_us: Mapping[int, int], newest: int, since_us: int) -> int:
    """Return the oldest version that was still current after a moment.

    >>> version_needed_min({0: 10, 1: 20, 2: 30}, newest=2, since_us=20)
    1
    """
    # Not by the order of the moments: a clock that was set back must not shorten anybody's grace.
    superseded = [version - 1 for version, at_us in committed_us.items() if at_us > since_us and version > 0]
    return min([newest, *superseded])


def unreferenced(files: Iterable[StoredFile], named: Collection[str]) -> list[StoredFile]:
    """Return the files that are not named; a checksum file (.name.crc) goes with the data file beside it."""
    return [file for file in files if _guarded(file.path) not in named]


def unneeded(files: Iterable[StoredFile], needed: Collection[str], since_us: int) -> list[StoredFile]:
    """Return the files that no needed version names and that have not changed since a moment."""
    return [file for file in unreferenced(files, needed) if file.changed_us <= since_us]


def log_unneeded(
    entries: Mapping[int, StoredFile],
    checkpoints: Mapping[int, StoredFile],
    *,
    needed_min: int,
    folded: Collection[int] | None,
    since_us: int,
) -> list[StoredFile]:
    """Return log entries and checkpoints that may go: older than a moment, and before a checkpoint that suffices.

    That is the newest checkpoint from which the oldest needed version can be read. Entries go oldest first and
    without a gap, and none before the ledger has its receipt at a version that is kept (`folded` are the versions of
    the ledger's files; None where there are no receipts).
    """
    sufficient = _newest(checkpoints, needed_min)
    if sufficient is None:
        return []
    keep_from = sufficient if folded is None else _newest(folded, sufficient) or 0
    oldest_first = (entry for version, entry in sorted(entries.items()) if version < keep_from)
    gone = list(takewhile(lambda entry: entry.changed_us <= since_us, oldest_first))
    old = (file for version, file in sorted(checkpoints.items()) if version < sufficient)
    return gone + [file for file in old if file.changed_us <= since_us]


def _newest(versions: Iterable[int], through: int) -> int | None:
    return max((version for version in versions if version <= through), default=None)


def joined_files(folded: Sequence[int], before: int) -> Sequence[int]:
    """Return the ledger files to join, among their versions, oldest first: side by side, and all before a version.

    They come to lie like the runs of a sub-index, old and large before young and small, so that each receipt is written
    again a few times only.

    >>> joined_files([10, 20, 30, 40], before=99), joined_files(range(10, 130, 10), before=105)
    ([], [10, 20, 30, 40, 50, 60, 70, 80, 90, 100])
    """
    young: list[int] = []
    spans: list[int] = []
    for earlier, version in reversed(list(pairwise([-1, *folded]))):
        if version >= before:
            continue
        if version - earlier >= JOINED_COMMITS_MAX:
            break
        young.append(version)
        spans.append(version - earlier)
    return young[: join_count(spans, JOINED_MAX, receives=False)][::-1]


def _guarded(path: str) -> str:
    """Return the data file that a checksum file belongs to."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/{name.removeprefix('.').removesuffix('.crc')}" if name.endswith(".crc") else path
