"""Delta statistics of a data file, from its Parquet footer: readers skip files by them without opening these.

The table says which columns have them (`storage/statistics_columns.py`): as few files as possible may lack them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

# Long texts are cut: the least value stays below, the greatest gets a last character that sorts above all.
TEXT_MAX = 64
_ABOVE_ALL = "\U0010ffff"


def file_statistics(parquet: pq.ParquetFile, key: Sequence[str]) -> str:
    """Return the `stats` of an add action: rows, and min, max and NULLs of the key and of tidewheel's own columns.

    Cost: nothing beyond the footer, unless it lacks the bounds of a text.
    """
    metadata = parquet.metadata
    least: dict[str, Any] = {}
    greatest: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    positions = {metadata.schema.column(i).path: i for i in range(metadata.num_columns)}
    for name in (*key, "ins_slot", "exp_slot", "valid_until"):
        if name not in positions:
            continue
        try:
            bounds = _bounds(parquet, positions[name])
        except (OverflowError, ValueError):
            continue  # a moment that Python has no date for
        if bounds is not None:
            least[name], greatest[name] = bounds
            nulls[name] = sum(
                _chunk_nulls(metadata, group, positions[name]) for group in range(metadata.num_row_groups)
            )
    found = {"numRecords": metadata.num_rows, "minValues": least, "maxValues": greatest, "nullCount": nulls}
    # Characters as they are: of escapes, delta-rs 1.6.6 reads those beyond U+FFFF as other characters.
    return json.dumps(found, ensure_ascii=False)


def _bounds(parquet: pq.ParquetFile, position: int) -> tuple[Any, Any] | None:
    """Return the least and the greatest value, as JSON; None for kinds whose order is not safe to rely on."""
    metadata = parquet.metadata
    groups = [metadata.row_group(i).column(position).statistics for i in range(metadata.num_row_groups)]
    if not groups:
        return None
    if all(group is not None and group.has_min_max for group in groups):
        pair = min(group.min for group in groups), max(group.max for group in groups)
    elif metadata.schema.column(position).logical_type.type == "STRING":
        # Writers leave out the bounds of texts beyond some kilobytes.
        pair = _read_bounds(parquet, metadata.schema.column(position).path)
    else:
        return None
    least, greatest = _least(pair[0]), _greatest(pair[1])
    return None if least is None or greatest is None else (least, greatest)


def _read_bounds(parquet: pq.ParquetFile, name: str) -> tuple[Any, Any]:
    found = [pc.min_max(batch.column(0)).as_py() for batch in parquet.iter_batches(columns=[name])]
    texts = [one for one in found if one["min"] is not None]
    if not texts:
        return None, None
    return min(one["min"] for one in texts), max(one["max"] for one in texts)


def _chunk_nulls(metadata: pq.FileMetaData, group: int, position: int) -> int:
    statistics = metadata.row_group(group).column(position).statistics
    return 0 if statistics is None else statistics.null_count or 0


def _least(value: Any) -> Any:
    return value[:TEXT_MAX] if isinstance(value, str) else _plain(value)


def _greatest(value: Any) -> Any:
    if isinstance(value, str) and len(value) > TEXT_MAX:
        # Nothing sorts above a text that goes on with the last character: it is its own maximum.
        return value if value[TEXT_MAX] == _ABOVE_ALL else value[:TEXT_MAX] + _ABOVE_ALL
    if isinstance(value, str):
        return value
    return _plain(value)


def _plain(value: Any) -> Any:
    """Return a value as Delta's JSON statistics write it; None for kinds whose order is not safe to rely on."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return moment_text(value) if isinstance(value, date) else None


def moment_text(value: date) -> str:
    """Return a moment or a day as Delta's JSON statistics write it."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    return value.isoformat()
