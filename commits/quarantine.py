"""The quarantine's side table: what lies there, and whose records count."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from tidewheel.commits.archive import ArchiveJob
from tidewheel.indexing.errors import Damaged, TidewheelError
from tidewheel.indexing.printable import one_line
from tidewheel.storage.location import Location
from tidewheel.storage.machine import machine_fault

FOLDER = "quarantine"


def discard_quarantined(job: ArchiveJob, attempt: str) -> None:
    """Take back what earlier tries of an attempt stored: its records count by its name, once. Cost: the side table."""
    table = open_quarantine(job.location)
    if table is not None:
        table.delete(f"attempt = '{attempt}'")


def open_quarantine(location: Location) -> DeltaTable | None:
    """The side table, if anything was ever quarantined."""
    side = location.side_location(FOLDER)
    try:
        return DeltaTable(side.delta_uri, storage_options=side.storage_options)
    except TableNotFoundError as error:
        if not any(info.path.endswith(".parquet") for info in side.files_below("")):
            return None
        raise _unreadable(location, error) from error
    except (DeltaError, OSError) as error:
        raise _unreadable(location, error) from error


def _unreadable(location: Location, error: Exception) -> TidewheelError:
    side = location.side_location(FOLDER)
    return machine_fault(str(error), f"while reading the quarantine at {side.uri}") or Damaged(
        f"the quarantine at {side.uri} cannot be read: {one_line(str(error))}",
        f"move {side.uri} away, then bring the slots that had records in it again: tidewheel backfill",
    )


def quarantined_rows(location: Location, attempts: Iterable[tuple[int, str]]) -> list[dict[str, Any]]:
    """The quarantined records that count: those of the given (slot, attempt) pairs, which committed receipts name."""
    table = open_quarantine(location)
    if table is None:
        return []
    counted = set(attempts)
    rows = pa.table(table.to_pyarrow_table()).to_pylist()
    return [row for row in rows if (row["slot"], row["attempt"]) in counted]
