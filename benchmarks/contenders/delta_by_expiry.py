"""Delta partitioned by expiration slot: the clever user. Expiry drops a partition; files are many and small."""

from __future__ import annotations

from benchmarks.contender import Course
from benchmarks.contenders.delta import DeltaContender

# What our own files are written with; Delta takes it only from the session.
OUR_FILE_SETTINGS = {
    "parquet.block.row.count.limit": "10000",
    "parquet.bloom.filter.enabled#key": "true",
    "parquet.bloom.filter.expected.ndv#key": "10000",
}


class DeltaByExpiry(DeltaContender):
    """`tuned`: with the small row groups and Bloom filters of our own files."""

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
            for name, value in OUR_FILE_SETTINGS.items():
                self._spark.conf.set(name, value)

    def close(self) -> None:
        super().close()
        if self.tuned:
            for name in OUR_FILE_SETTINGS:
                self._spark.conf.unset(name)

    def _expire(self, slot: int) -> None:
        """On the partition column: no file is read."""
        self._table.delete(f"exp_slot <= {slot}")
