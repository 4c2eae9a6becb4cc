"""The yardstick: the batch appended plainly to a Delta table. Nothing ever expires."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.contenders.delta import DeltaContender
from benchmarks.harness.contender import Family


class DeltaAppend(DeltaContender):
    name = "delta_append"
    label = "Delta, plain append (nothing expires)"
    family = Family.YARDSTICK
    off_disk = "never"
    load_each = 0

    def _append(self, slots: Sequence[int]) -> None:
        self._batch(slots).write.format("delta").mode("append").save(self._path)

    def _expire(self, slot: int) -> None:
        """A yardstick for writing alone."""
