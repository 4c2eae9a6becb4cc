"""The files of a version by their least key, in blocks: a probe looks at few of many thousands.

Of each block the greatest key of all its files is known. Those behind the last key asked for begin too late, a block
whose greatest key is below the first ends too early; of what is left, each file is looked at as ever. Files of one
run are key ranges side by side, so in the order of their least keys what lies close together ends close together.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

from tidewheel.indexing.core.state import FileFact
from tidewheel.sql.keys.key_conditions import KeyCondition

BLOCK_FILES = 64


class KeyOrder:
    """The first column of the key decides; files of which the log does not tell its bounds are always looked at."""

    def __init__(self, files: Sequence[FileFact]) -> None:
        bounded = [file for file in files if _is_bounded(file)]
        self._others = [file for file in files if not _is_bounded(file)]
        self._files = sorted(bounded, key=_least)
        self._leasts = [_least(file) for file in self._files]
        self._greatest = [
            max(file.key_max[0] for file in self._files[start : start + BLOCK_FILES])
            for start in range(0, len(self._files), BLOCK_FILES)
        ]

    def near(self, condition: KeyCondition) -> Iterator[FileFact]:
        """The files to look at. Cost: a look at each block, and at each file of those that are left."""
        yield from self._others
        low, high = condition.first
        end = len(self._files) if high is None else bisect_right(self._leasts, high)
        for block, start in enumerate(range(0, end, BLOCK_FILES)):
            if low is None or not self._greatest[block] < low:
                yield from self._files[start : min(start + BLOCK_FILES, end)]


def _is_bounded(file: FileFact) -> bool:
    return bool(file.key_min) and file.key_min[0] is not None and file.key_max[0] is not None


def _least(file: FileFact) -> Any:
    return file.key_min[0]
