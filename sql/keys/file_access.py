"""The files of a version that a read has to open, and the reasons to skip the others.

The log knows the smallest and largest key of every file and the last moment one of its records is valid; a file
that cannot hold an answer is not opened. A statistic that is missing never excludes a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tidewheel.indexing.core.slots import iso
from tidewheel.indexing.core.state import Bound, FileFact
from tidewheel.sql.keys.key_conditions import KeyCondition


@dataclass(frozen=True)
class Access:
    """The files of one version that a read opens. The reasons to skip the others are worked out on demand."""

    version: int
    as_of_us: int
    files: Sequence[FileFact]
    read: tuple[FileFact, ...]
    without_key: tuple[FileFact, ...] = ()

    @property
    def files_total(self) -> int:
        return len(self.files)

    @cached_property
    def expired(self) -> tuple[FileFact, ...]:
        """The files of which no record is valid at the moment."""
        return tuple(file for file in self.files if _is_over(file, self.as_of_us) and file not in self._opened)

    @cached_property
    def outside_key(self) -> tuple[FileFact, ...]:
        """The others that cannot have the key, by the log's bounds."""
        others = (file for file in self.files if file not in self._opened and not _is_over(file, self.as_of_us))
        return tuple(others)

    @cached_property
    def _opened(self) -> frozenset[FileFact]:
        return frozenset((*self.read, *self.without_key))

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


def admitted(files: Iterable[FileFact], condition: KeyCondition, as_of_us: int) -> tuple[FileFact, ...]:
    """The files that may hold a record which matches and is valid after a moment. Cost: a look at each."""
    return tuple(
        file for file in files if not _is_over(file, as_of_us) and not condition.excludes(file.key_min, file.key_max)
    )


def _is_over(file: FileFact, as_of_us: int) -> bool:
    return file.valid_until_max_us is not None and file.valid_until_max_us <= as_of_us


def _shown(bounds: Sequence[Bound]) -> str:
    return ", ".join(map(str, bounds))
