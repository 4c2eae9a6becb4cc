"""What lies beside an archive."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidewheel.commits.side_tables.quarantine import QUARANTINE
from tidewheel.storage.location import Location


def quarantined_rows(location: Location, batches: Iterable[tuple[int, str]] | None = None) -> list[dict[str, Any]]:
    """The rows of the quarantine, as they are stored: of some batches, or all."""
    rows = QUARANTINE.read(location, None if batches is None else set(batches))
    return [] if rows is None else rows.to_pylist()
