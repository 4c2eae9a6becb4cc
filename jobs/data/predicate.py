"""The predicate of a forget: one condition over a record's own columns, with the same result on every call.

It is computed several times: to find the records, to name them in tombstones and to keep them out. If one of these
computations differed, by chance or by the clock, records would leave that no tombstone keeps out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from tidewheel.indexing.errors import InvalidInput, TidewheelError
from tidewheel.jobs.process.java import first_line
from tidewheel.storage.machine import machine_fault

NOTHING_CHANGED = "Nothing was changed"
# Spark takes these for constants of one query; every further query has others.
_CLOCKS = frozenset({"CurrentTimestamp", "Now", "CurrentDate", "LocalTimestamp", "CurrentTime"})


def check_predicate(where: str, columns: StructType, spark: SparkSession) -> None:
    """Refuse a text that is no condition over the columns. Cost: no job."""
    columns = _own(columns)
    try:
        chosen: Any = spark.createDataFrame([], columns).where(where)
    except AnalysisException as error:
        raise _wrong(where, columns, first_line(error), NOTHING_CHANGED) from error
    condition = chosen._jdf.queryExecution().analyzed().condition()
    expressions = spark._jvm.org.apache.spark.sql.catalyst.expressions  # type: ignore[union-attr]
    if expressions.SubqueryExpression.hasSubquery(condition):
        raise _wrong(where, columns, "it asks another table", NOTHING_CHANGED)
    if not condition.deterministic() or _CLOCKS & set(_kinds_in(condition)):
        raise _wrong(where, columns, "its answer may differ each time it is asked", NOTHING_CHANGED)


@contextmanager
def computing(where: str, columns: StructType, state: str = NOTHING_CHANGED) -> Iterator[None]:
    """Blame the predicate, not the archive, for a value that it cannot be computed for."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        said, doing = first_line(error), "while looking for what to forget"
        fault = machine_fault(str(error), doing, said, state=state)
        raise fault or _wrong(where, _own(columns), said, state) from error


def _own(columns: StructType) -> StructType:
    """Return the columns without those that a job adds for its own use."""
    return StructType([field for field in columns if not field.name.startswith("__tw_")])


def _wrong(where: str, columns: StructType, why: str, state: str) -> TidewheelError:
    known = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in columns)
    return InvalidInput(
        f"the predicate {where!r} cannot be used: {why.rstrip('.')}. {state}",
        f"give a condition that compares columns with values of their own types: {known}",
    )


def _kinds_in(expression: Any) -> Iterator[str]:
    """Yield the kinds of an expression and of all within it, as Spark calls them."""
    waiting = [expression]
    while waiting:
        one = waiting.pop()
        yield one.getClass().getSimpleName()
        children = one.children()
        waiting += [children.apply(number) for number in range(children.size())]
