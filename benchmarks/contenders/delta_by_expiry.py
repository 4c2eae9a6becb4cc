"""Delta partitioned by expiration slot: the clever user. Expiry drops a partition; files are many and small."""

from __future__ import annotations

from benchmarks.contenders.delta import DeltaContender
from benchmarks.contenders.our_files import DIRECTORY
from benchmarks.harness.contender import Course


class DeltaByExpiry(DeltaContender):
    """`tuned`: with the small row groups and Bloom filters of our own files; Delta takes them from the session only."""

    partitioned = True
    # One load of all slots leaves the same files as slot by slot: a task per slot writes one per partition.
    load_each = 0

    def __init__(self, optimize_every: int = 0, *, tuned: bool = False) -> None:
        self.optimize_every, self.tuned = optimize_every, tuned
        self.name = "delta_by_expiry" + (f"_optimize_{optimize_every}" if optimize_every else "")
        self.name += "_tuned" if tuned else ""
        self.label = "Delta, partitioned by expiration slot"
        self.label += f", OPTIMIZE every {optimize_every}" if optimize_every else ""
        self.label += ", our row groups and Bloom filters" if tuned else ""
        self.settle = max(2, optimize_every)

    def create(self, course: Course) -> None:
        super().create(course)
        if self.tuned:
            for name, value in DIRECTORY.items():
                self._spark.conf.set(name, value)

    def close(self) -> None:
        super().close()
        if self.tuned:
            for name in DIRECTORY:
                self._spark.conf.unset(name)

    def _expire(self, slot: int) -> None:
        """On the partition column: no file is read."""
        self._table.delete(f"exp_slot <= {slot}")
