"""What lets a probe of our own files find its row group, for contenders that are given the same."""

from __future__ import annotations

from pyspark.sql.types import LongType

from tidewheel.indexing.core.layouts import GROUP_BYTES, GROUP_ROWS
from tidewheel.jobs.data.write import key_options

RECORD_BYTES = 1000  # about, in the races whose files are given this
DIRECTORY = {
    "parquet.block.row.count.limit": str(GROUP_ROWS),
    "parquet.block.size": str(GROUP_BYTES),
    **key_options("key", LongType(), min(GROUP_ROWS, GROUP_BYTES // RECORD_BYTES)),
}
