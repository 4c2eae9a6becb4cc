"""Which of a version's files a read has to open, and why it leaves the others alone.

The log knows the smallest and largest key of every file and the last moment one of its records is valid; a file
that cannot hold an answer is not opened. A statistic that is missing never excludes a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tidewheel.indexing.core.slots import iso
from tidewheel.indexing.core.state import Bound, FileFact
from tidewheel.sql.key_conditions import KeyCondition


@dataclass(frozen=True)
class Access:
    """What one read opens of one version."""

    version: int
    as_of_us: int
    read: tuple[FileFact, ...]
    expired: tuple[FileFact, ...] = ()
    outside_key: tuple[FileFact, ...] = ()
    without_key: tuple[FileFact, ...] = ()

    @property
    def files_total(self) -> int:
        return len(self.read) + len(self.expired) + len(self.outside_key) + len(self.without_key)

    def reasons(self) -> Iterator[tuple[FileFact, str]]:
        """Every file with the reason why it is opened or not, in words."""
        for file in self.read:
            yield file, "may hold an answer"
        for file in self.expired:
            yield file, f"every record expired by {iso(file.valid_until_max_us or 0)}"
        for file in self.outside_key:
            yield file, f"holds the keys {_shown(file.key_min)} to {_shown(file.key_max)}"
        for file in self.without_key:
            yield file, "does not hold the key, by its Bloom filters"


def choose(files: Sequence[FileFact], version: int, condition: KeyCondition, as_of_us: int) -> Access:
    """The files that may hold a record which matches and is valid after a moment. Cost: a look at each."""
    read, expired, outside = [], [], []
    for file in files:
        if file.valid_until_max_us is not None and file.valid_until_max_us <= as_of_us:
            expired.append(file)
        elif condition.excludes(file.key_min, file.key_max):
            outside.append(file)
        else:
            read.append(file)
    return Access(version, as_of_us, tuple(read), tuple(expired), tuple(outside))


def _shown(bounds: Sequence[Bound]) -> str:
    return ", ".join(map(str, bounds))
