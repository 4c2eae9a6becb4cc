"""Delta with deletion vectors: DELETE marks rows; only PURGE and vacuum, now and then, take the bytes."""

from __future__ import annotations

from typing import ClassVar

from benchmarks.contenders.delta import DeltaContender


class DeltaVectors(DeltaContender):
    properties: ClassVar[dict[str, str]] = {
        "delta.enableDeletionVectors": "true",
        "delta.deletedFileRetentionDuration": "interval 0 hours",
    }

    def __init__(self, purge_every: int = 12) -> None:
        self.optimize_every = self.settle = purge_every
        self.name = f"delta_vectors_purge_{purge_every}"
        self.label = f"Delta, deletion vectors, REORG PURGE + vacuum every {purge_every}"

    def _optimize(self) -> None:
        self._spark.sql(f"REORG TABLE delta.`{self._path}` APPLY (PURGE)").collect()
        self._spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
        self._table.vacuum(0)
        self._spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")
