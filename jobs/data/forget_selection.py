"""The selection of a forget, as Spark computes it: a mark on every record that matches."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidewheel.indexing.core.plan_kinds import Selection
from tidewheel.indexing.core.receipts import Tombstone
from tidewheel.jobs.data.judge import marked_forgotten
from tidewheel.jobs.data.key_digests import key_digests
from tidewheel.jobs.data.predicate import check_predicate
from tidewheel.storage.snapshot import Snapshot

_EVER = (1 << 62) - 1


def matched(frame: DataFrame, selection: Selection, spark: SparkSession, snapshot: Snapshot) -> DataFrame:
    """Return the frame with `__tw_forgotten`: whether the selection matches the record."""
    if selection.where:
        check_predicate(selection.where, frame.schema, spark)
        return frame.withColumn("__tw_forgotten", F.coalesce(F.expr(selection.where), F.lit(False)))
    definition = snapshot.definition
    digests = key_digests(spark, snapshot, selection.keys)
    tombstones = [Tombstone(definition.key, digest, _EVER) for digest in digests]
    return marked_forgotten(frame, tombstones, definition.salt, spark)
