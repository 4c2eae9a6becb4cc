"""The work of an attempt for a plan before its commit, and how it is discarded if there is none."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from deltalake import Field

from tidewheel.commits.written import Written
from tidewheel.indexing.core.offsets import SlotOffsets
from tidewheel.indexing.core.plan import Plan
from tidewheel.storage.location import Location

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Work:
    """The files that an attempt has written for a plan, not committed yet."""

    plan: Plan
    folder: str
    written: Written
    lineage: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    capped_rows: int = 0
    late_rows: int = 0
    rows_read: int = 0
    new_columns: tuple[Field, ...] = ()
    hand: str = ""  # who wrote the files, and why
    offsets: Mapping[int, SlotOffsets] = field(default_factory=dict)  # of a topic, by slot


def discard(location: Location, folder: str) -> None:
    """Delete the files of an attempt that certainly were not committed; vacuum takes what stays behind."""
    try:
        location.delete_folder(folder)
    except OSError as error:
        LOG.warning("the uncommitted folder %s could not be deleted; vacuum will: %s", folder, error)
