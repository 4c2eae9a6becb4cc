"""Digests of keys that somebody names: the same as those of the records that have them, for every type of key.

A named value or its text becomes a value of the column's type before Spark sees it. From there on, the same expression
computes its digest as a record's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import pyarrow as pa
from deltalake import Schema
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from tidewheel.indexing.errors import InvalidInput
from tidewheel.jobs.data.arrow_frames import NUMBER, numbered_frame
from tidewheel.jobs.data.expressions import keyed_digest, quoted
from tidewheel.jobs.data.schema import columns_of
from tidewheel.storage.key_values import typed_key
from tidewheel.storage.snapshot import Snapshot


def key_digests(spark: SparkSession, snapshot: Snapshot, keys: Iterable[Sequence[Any]]) -> list[str]:
    """Return the digests of keys; refuse what is no value of the key's type."""
    definition = snapshot.definition
    kinds = columns_of(snapshot)
    typed = spark.createDataFrame(
        [values for key in keys for values in _typed(key, snapshot)],
        StructType([kinds[name] for name in definition.key]),
    )
    return [row[0] for row in typed.selectExpr(keyed_digest(definition.key, definition.salt)).distinct().collect()]


def record_digests(spark: SparkSession, snapshot: Snapshot, columns: Sequence[str], rows: pa.Table) -> list[str]:
    """Return the digests of records by some of their columns, in the order of the rows."""
    kinds = columns_of(snapshot)
    frame = numbered_frame(spark, rows.select(columns))
    cast = (f"cast({quoted(name)} as {kinds[name].dataType.simpleString()}) as {quoted(name)}" for name in columns)
    found = frame.selectExpr(NUMBER, *cast).selectExpr(NUMBER, keyed_digest(columns, snapshot.definition.salt))
    by_row = {row[0]: row[1] for row in found.collect()}
    return [by_row[number] for number in range(rows.num_rows)]


def _typed(key: Sequence[Any], snapshot: Snapshot) -> Iterable[tuple[Any, ...]]:
    """Return a key as values of its columns; 0.0 and -0.0 are equal and have two digests, so both are meant."""
    names = snapshot.definition.key
    if len(key) != len(names):
        raise InvalidInput(
            f"the key of archive {snapshot.definition.name} is ({', '.join(names)}), got {len(key)} values",
            "give a value for each key column",
        )
    types = pa.schema(Schema(snapshot.columns))
    values = [typed_key(value, name, types.field(name).type) for value, name in zip(key, names, strict=True)]
    return product(*((value, -value) if isinstance(value, float) and value == 0 else (value,) for value in values))
