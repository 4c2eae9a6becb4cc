"""Files of one attempt, written by Spark: sorted by key, and counted from their footers.

Rows of a sub-index, or of a range of its keys, meet in one task each (`spread`), sorted by (key, valid_until). So a
sub-index is one run of files that are key ranges. The output committer is the renaming one: it does not pick up what a
failed task left behind.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from time import monotonic, sleep
from urllib.parse import unquote

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    FloatType,
    IntegralType,
    MapType,
    StringType,
    StructType,
)

from tidewheel.commits.archive import ArchiveJob
from tidewheel.commits.written import Written, read_back
from tidewheel.indexing.core.file_sizes import expected_sizes, rows_per_file, rows_per_group
from tidewheel.indexing.core.layouts import GROUP_BYTES, GROUP_ROWS, MEBIBYTE
from tidewheel.indexing.core.plan import Plan
from tidewheel.indexing.core.state import FileFact, TableState
from tidewheel.indexing.errors import InvalidInput, TidewheelError
from tidewheel.jobs.data.expressions import quoted
from tidewheel.jobs.data.schema import columns_of
from tidewheel.jobs.data.spread import SourceKeys, spread_out
from tidewheel.jobs.process.jars import require
from tidewheel.jobs.process.java import first_line
from tidewheel.storage.location import Location
from tidewheel.storage.machine import machine_fault
from tidewheel.storage.snapshot import Snapshot

# A dictionary that does not fit in this is given up early. With Parquet's own bound, 1 MiB, it was tried on the first
# half of every row group of wide records, in vain: a quarter of the tasks' time.
DICTIONARY_BYTES = MEBIBYTE // 16
# Hadoop's own local file system starts a process for each file and folder that it makes. This one does not; it is
# asked for in writing only, as it does not list folders through symbolic links, and sources may be such.
LOCAL_FILES = {
    "fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem",
    "fs.file.impl.disable.cache": "true",
}
LOCAL_FILES_JAR = "hadoop-bare-naked-local-fs"
TASKS_END_S = 30
_READING = re.compile(r"Encountered error while reading file (\S+?)\.?\s")


def write_work(
    job: ArchiveJob,
    snapshot: Snapshot,
    state: TableState,
    plan: Plan,
    folder: str,
    frames: Sequence[DataFrame],
    sources: Sequence[FileFact],
) -> Written:
    """Write placed frames into a folder and read back what the files hold; Spark's failures come with a remedy.

    `sources` are the files among those read whose rows stay in their sub-index: their keys tell where to cut.
    """
    frame = reduce(lambda left, right: left.unionByName(right), frames)
    key, target = snapshot.definition.key, plan.generation.target_file_bytes
    comparable = isinstance(columns_of(snapshot)[key[0]].dataType, IntegralType | StringType)
    keys = SourceKeys(job.location, key[0], sources if comparable else ())
    order = ["layout", "g", "e", *map(quoted, key), "valid_until"]
    try:
        spread = spread_out(frame, order[:-1], expected_sizes(state, plan), keys, target).sortWithinPartitions(*order)
        options = _options(job.location, frame, key[0], rows_per_file(state, plan.generation), target)
        spread.write.options(**options).partitionBy("layout", "g", "e").parquet(f"{job.location.spark_uri}/{folder}")
    except (PySparkException, Py4JJavaError) as error:
        _end_writers(frame.sparkSession)
        raise _failed(job, error) from error
    return read_back(job.location, folder, snapshot.definition)


def write_unparsed(job: ArchiveJob, frame: DataFrame, folder: str) -> tuple[str, ...]:
    """Write unparsed records, with their text, beside the attempt's files."""
    path = f"{folder}/unparsed"
    try:
        frame.coalesce(1).write.parquet(f"{job.location.spark_uri}/{path}")
    except (PySparkException, Py4JJavaError) as error:
        raise _failed(job, error) from error
    below = job.location.files_below(path)
    return tuple(job.location.relative(info.path) for info in below if info.base_name.endswith(".parquet"))


def _options(location: Location, frame: DataFrame, key: str, file_rows: int, target_bytes: int) -> dict[str, str]:
    """Return how Parquet is written there: small row groups, each with a Bloom filter of its keys."""
    group_rows = rows_per_group(file_rows, target_bytes)
    options = {
        "compression": "zstd",
        "parquet.block.row.count.limit": str(GROUP_ROWS),
        "parquet.block.size": str(GROUP_BYTES),
        "parquet.dictionary.page.size": str(DICTIONARY_BYTES),
        "parquet.enable.dictionary#row_hash": "false",  # no two are equal
        **key_options(key, frame.schema[key].dataType, group_rows),
        **bounds_options(frame.schema),
        "maxRecordsPerFile": str(file_rows),
    }
    if not location.is_local:
        require("s3")
    elif LOCAL_FILES_JAR in str(frame.sparkSession.conf.get("spark.jars", "")):  # a session of others may lack it
        options |= LOCAL_FILES
    return options


def key_options(column: str, kind: DataType, group_rows: int) -> dict[str, str]:
    """Return options for a Bloom filter in every row group.

    If a dictionary holds all keys of a group, Parquet writes none.

    DuckDB 1.5 loses records by a filter of bytes or floating point, DataFusion by one of truth values: these get none.
    """
    options = {f"parquet.enable.dictionary#{column}": "false"}  # sorted keys compress as well without
    if isinstance(kind, BinaryType | BooleanType | FloatType | DoubleType):
        return options
    return options | {
        f"parquet.bloom.filter.enabled#{column}": "true",
        f"parquet.bloom.filter.expected.ndv#{column}": str(group_rows),
    }


def bounds_options(kind: DataType, path: str = "") -> dict[str, str]:
    """No bounds of floating point, however deep: where one value is NaN, pyarrow finds none that is asked for.

    >>> bounds_options(StructType().add("a", ArrayType(DoubleType())).add("b", StringType()))
    {'parquet.column.statistics.enabled#a.list.element': 'false'}
    """
    if isinstance(kind, FloatType | DoubleType):
        return {f"parquet.column.statistics.enabled#{path}": "false"}
    below: dict[str, DataType] = {}
    if isinstance(kind, StructType):
        below = {field.name: field.dataType for field in kind.fields}
    elif isinstance(kind, ArrayType):
        below = {"list.element": kind.elementType}
    elif isinstance(kind, MapType):
        below = {"key_value.key": kind.keyType, "key_value.value": kind.valueType}
    prefix = f"{path}." if path else ""
    return {name: off for one, child in below.items() for name, off in bounds_options(child, prefix + one).items()}


def _end_writers(spark: SparkSession) -> None:
    """Release files to be discarded: other tasks of the failed job still write, failed writers hold files open."""
    tracker = spark.sparkContext._jsc.sc().statusTracker()
    end = monotonic() + TASKS_END_S
    while any(one.numRunningTasks() for one in tracker.getExecutorInfos()) and monotonic() < end:
        sleep(0.05)
    # On a full disk a writer fails to close, too; Java closes it when it collects it, and frees the space only then.
    spark._jvm.java.lang.System.gc()  # type: ignore[union-attr]


def _failed(job: ArchiveJob, error: Exception) -> TidewheelError:
    """Return the error for a Spark failure, by what the caller can do about it."""
    text = str(error)
    said = f"{_deepest(text) or first_line(error)}{_file_read(text)}"
    return machine_fault(text, f"while writing to {job.location.uri}", said) or InvalidInput(
        f"Spark could not carry out the update: {said}. Nothing was changed",
        "if it names a source file, check that file; if a value cannot be cast, use try_cast in [archive] expires_at",
    )


def _file_read(text: str) -> str:
    """Return the file that was being read, where the innermost cause does not name it: an archive of a cut format."""
    found = _READING.search(text)
    return f", in {unquote(found[1]).removeprefix('file://')}" if found else ""


def _deepest(text: str) -> str:
    """Return the innermost cause that a Java stack trace names."""
    causes = [line.removeprefix("Caused by: ").strip() for line in text.splitlines() if line.startswith("Caused by: ")]
    return causes[-1][:500] if causes else ""
