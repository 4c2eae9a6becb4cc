"""What lets a probe of our own files find its row group, for contenders that are given the same."""

from __future__ import annotations

from tidewheel.jobs.write import GROUP_BYTES, ROWS_PER_GROUP

DIRECTORY = {
    "parquet.block.row.count.limit": str(ROWS_PER_GROUP),
    "parquet.block.size": str(GROUP_BYTES),
    "parquet.bloom.filter.enabled#key": "true",
    "parquet.bloom.filter.expected.ndv#key": str(ROWS_PER_GROUP),
}
