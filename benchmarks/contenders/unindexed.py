"""The thesis's unindexed index: the same sub-indices without a directory, to see what the directory costs and gains.

An archive cannot be told to leave its directory out, so this contender has the writer leave it out: rows meet by
sub-index as ever, but are not sorted by key within it, and there are no Bloom filters and no small row groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

from pyspark.sql import DataFrame

from benchmarks.contenders.ours import Ours
from benchmarks.harness.contender import Family
from tidewheel.indexing.core.layouts import MEBIBYTE, Strategy
from tidewheel.jobs.data import write

SUBINDEX = ("layout", "g", "e")  # Spark's writer wants the rows of a folder together


class Unindexed(Ours):
    """`rebuild` over squares, without a directory."""

    family = Family.YARDSTICK

    def __init__(self, side: int) -> None:
        super().__init__(
            f"unindexed_rr_rebuild_{side}x{side}", f"unindexed rebuild {side}×{side}", Strategy.REBUILD, side, side
        )

    def update(self, slots: Sequence[int]) -> dict[str, Any]:
        sort = DataFrame.sortWithinPartitions
        with (
            patch.object(DataFrame, "sortWithinPartitions", lambda frame, *_: sort(frame, *SUBINDEX)),
            patch.object(write, "key_options", lambda *_: {}),
            patch.object(write, "GROUP_BYTES", 128 * MEBIBYTE),
            patch.object(write, "GROUP_ROWS", 1_000_000),
        ):
            return super().update(slots)
