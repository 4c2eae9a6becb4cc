"""Delta statistics of a data file, from its Parquet footer: what prunes files without opening them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

import pyarrow.parquet as pq

# Long texts are cut: the least value stays below, the greatest gets a last character that sorts above all.
TEXT_MAX = 64
_ABOVE_ALL = "\U0010ffff"


def file_statistics(metadata: pq.FileMetaData, key: Sequence[str]) -> str:
    """The `stats` of an add action: rows, and min, max and NULLs of the key and of tidewheel's own columns."""
    least: dict[str, Any] = {}
    greatest: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    positions = {metadata.schema.column(i).path: i for i in range(metadata.num_columns)}
    for name in (*key, "ins_slot", "exp_slot", "valid_until"):
        if name not in positions:
            continue
        groups = [metadata.row_group(i).column(positions[name]).statistics for i in range(metadata.num_row_groups)]
        if not groups or any(group is None or not group.has_min_max for group in groups):
            continue
        try:
            least_json = _least(min(group.min for group in groups))
            greatest_json = _greatest(max(group.max for group in groups))
        except (OverflowError, ValueError):
            continue  # a moment that Python has no date for
        if least_json is not None and greatest_json is not None:
            least[name], greatest[name] = least_json, greatest_json
            nulls[name] = sum(group.null_count or 0 for group in groups)
    return json.dumps({"numRecords": metadata.num_rows, "minValues": least, "maxValues": greatest, "nullCount": nulls})


def _least(value: Any) -> Any:
    return value[:TEXT_MAX] if isinstance(value, str) else _plain(value)


def _greatest(value: Any) -> Any:
    if isinstance(value, str) and len(value) > TEXT_MAX:
        # Nothing sorts above a text that goes on with the last character: then no maximum is stated at all.
        return None if value[TEXT_MAX] == _ABOVE_ALL else value[:TEXT_MAX] + _ABOVE_ALL
    if isinstance(value, str):
        return value
    return _plain(value)


def _plain(value: Any) -> Any:
    """A value as Delta's JSON statistics write it; None for kinds whose order is not safe to rely on."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return moment_text(value) if isinstance(value, date) else None


def moment_text(value: date) -> str:
    """A moment or a day as Delta's JSON statistics write it."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    return value.isoformat()
