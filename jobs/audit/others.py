"""Faults in archives of earlier programs that mislead other readers, for audit; our own reader is not misled."""

from __future__ import annotations

import pyarrow.parquet as pq

from tidewheel.indexing.core.state import FileFact
from tidewheel.indexing.rules.findings import Finding, Flaw
from tidewheel.storage.snapshot import Snapshot
from tidewheel.storage.statistics_columns import PROPERTY, to_state

_MISREAD = ("FLOAT", "DOUBLE", "BOOLEAN")


def filter_misleads(metadata: pq.FileMetaData, column: str) -> bool:
    """Tell whether a column of bytes, truth values or floating point has a Bloom filter."""
    for position in range(metadata.num_columns):
        described = metadata.schema.column(position)
        if described.path == column:
            misread = described.physical_type in _MISREAD or (
                described.physical_type == "BYTE_ARRAY" and described.logical_type.type == "NONE"
            )
            chunks = (metadata.row_group(group).column(position) for group in range(metadata.num_row_groups))
            return misread and any(chunk.bloom_filter_offset is not None for chunk in chunks)
    return False


def misleading_filter(snapshot: Snapshot, fact: FileFact, rewrite: str) -> Finding:
    """Return the finding for a misleading filter; `rewrite` is the command that writes the file again."""
    column = snapshot.definition.key[0]
    message = (
        f"DuckDB 1.5, or for truth values DataFusion, passes records by because of the Bloom filter on {column} in "
        f"{fact.path}; rewrite it: {rewrite}"
    )
    return Finding(Flaw.OTHER_READERS, message, None, fact.path)


def statement_findings(snapshot: Snapshot, vacuum: str) -> list[Finding]:
    """Find a table that does not say which columns have statistics; `vacuum` is the command that adds it."""
    value = to_state(snapshot)
    if value is None:
        return []
    message = (
        "the table does not say which columns have statistics, and deltalake finds nothing by a filter on the others; "
        f"the next operation mends it, or: {vacuum}"
    )
    found = snapshot.table.metadata().configuration.get(PROPERTY)
    return [Finding(Flaw.OTHER_READERS, message, expected=value, found=found)]
