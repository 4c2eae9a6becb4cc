"""Spark writes, the footers tell: files of one attempt, sorted by key, counted from what they hold.

Rows meet by sub-index, or by a range of its keys, in one task each (`spread`), sorted by (key, valid_until), so that
a sub-index is one run of files that are key ranges. The output committer is the renaming one: what a failed task left
behind is not picked up.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql.types import BinaryType, DataType, DoubleType, FloatType

from tidewheel.commits.written import Written, read_back
from tidewheel.indexing.core.definition import Definition
from tidewheel.indexing.core.file_sizes import rows_per_group
from tidewheel.indexing.core.layouts import GROUP_BYTES, GROUP_ROWS, MEBIBYTE
from tidewheel.indexing.core.state import SubIndex
from tidewheel.jobs.data.expressions import quoted
from tidewheel.jobs.data.spread import SourceKeys, spread_out
from tidewheel.jobs.process.jars import require
from tidewheel.storage.location import Location

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


def write_frame(
    frame: DataFrame,
    location: Location,
    attempt: str,
    definition: Definition,
    sizes: Mapping[SubIndex, int],
    keys: SourceKeys,
    rows_per_file: int,
    target_bytes: int,
) -> Written:
    """Write a placed frame into the attempt's folder and read back what the files hold.

    `sizes` are the bytes that each sub-index is expected to get, as far as known, and `keys` tell where those may be
    cut that are rewritten: they balance the tasks.
    """
    order = ["layout", "g", "e", *map(quoted, definition.key), "valid_until"]
    group_rows = rows_per_group(rows_per_file, target_bytes)
    options = {
        "compression": "zstd",
        "parquet.block.row.count.limit": str(GROUP_ROWS),
        "parquet.block.size": str(GROUP_BYTES),
        "parquet.dictionary.page.size": str(DICTIONARY_BYTES),
        "parquet.enable.dictionary#row_hash": "false",  # no two are equal
        **key_options(definition.key[0], frame.schema[definition.key[0]].dataType, group_rows),
        "maxRecordsPerFile": str(rows_per_file),
    }
    spread = spread_out(frame, order[:-1], sizes, keys, target_bytes).sortWithinPartitions(*order)
    if not location.is_local:
        require("s3")
    elif LOCAL_FILES_JAR in str(frame.sparkSession.conf.get("spark.jars", "")):  # a session of others may lack it
        options |= LOCAL_FILES
    spread.write.options(**options).partitionBy("layout", "g", "e").parquet(f"{location.spark_uri}/{attempt}")
    return read_back(location, attempt, definition)


def key_options(column: str, kind: DataType, group_rows: int) -> dict[str, str]:
    """A Bloom filter in every row group. Where a dictionary holds all of a group's keys, Parquet writes none.

    DuckDB 1.5 loses records by a filter of bytes or floating point: these kinds get none.
    """
    options = {f"parquet.enable.dictionary#{column}": "false"}  # sorted keys compress as well without
    if isinstance(kind, BinaryType | FloatType | DoubleType):
        return options
    return options | {
        f"parquet.bloom.filter.enabled#{column}": "true",
        f"parquet.bloom.filter.expected.ndv#{column}": str(group_rows),
    }
