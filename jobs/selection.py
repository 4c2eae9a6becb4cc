"""What a forget selects, as Spark computes it: a mark on every record that matches, and the digests of tombstones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidewheel.indexing.definition import Definition
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.plan_kinds import Selection
from tidewheel.indexing.receipts import Tombstone
from tidewheel.jobs.expressions import keyed_digest, quoted
from tidewheel.jobs.judge import marked_forgotten
from tidewheel.jobs.predicate import check_predicate

_EVER = (1 << 62) - 1


def matched(frame: DataFrame, selection: Selection, spark: SparkSession, definition: Definition) -> DataFrame:
    """The frame with `__tw_forgotten`: whether the selection matches the record."""
    if selection.where:
        check_predicate(selection.where, frame.schema, spark)
        return frame.withColumn("__tw_forgotten", F.coalesce(F.expr(selection.where), F.lit(False)))
    digests = key_digests(selection.keys, spark, definition, dict(frame.dtypes))
    tombstones = [Tombstone(definition.key, digest, _EVER) for digest in digests]
    return marked_forgotten(frame, tombstones, definition.salt, spark)


def key_digests(
    keys: Sequence[tuple[str, ...]], spark: SparkSession, definition: Definition, kinds: Mapping[str, str]
) -> list[str]:
    """The digests of the keys asked for; text that is no value of the key's type is refused."""
    width = len(definition.key)
    for key in keys:
        if len(key) != width:
            raise InvalidInput(
                f"the key of archive {definition.name} is ({', '.join(definition.key)}), got {len(key)} values",
                "give a value for each key column",
            )
    names = [f"__tw_key_{number}" for number in range(width)]
    listed = spark.createDataFrame(list(keys), ", ".join(f"{name} string" for name in names))
    cast = [
        F.expr(f"try_cast({name} as {kinds[column]})").alias(column)
        for name, column in zip(names, definition.key, strict=True)
    ]
    typed = listed.select(*cast)
    bad = typed.where(" or ".join(f"{quoted(column)} is null" for column in definition.key)).count()
    if bad:
        said = ", ".join(f"{column} {kinds[column]}" for column in definition.key)
        raise InvalidInput(f"{bad} of the keys are not values of ({said})", "correct them; nothing was changed")
    for column in definition.key:
        if kinds[column] in ("float", "double"):
            typed = _with_both_zeros(typed, column)
    return [row[0] for row in typed.selectExpr(keyed_digest(definition.key, definition.salt)).distinct().collect()]


def _with_both_zeros(keys: DataFrame, column: str) -> DataFrame:
    """0.0 and -0.0 are equal and have two digests: who forgets one of them forgets both."""
    name = quoted(column)
    zeros = f"explode(if({name} = 0, array({name}, -{name}), array({name}))) as {name}"
    return keys.selectExpr(*(zeros if one == column else quoted(one) for one in keys.columns))
