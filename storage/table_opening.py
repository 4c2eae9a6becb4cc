"""The opening of a Delta table by delta-rs. Failures are told apart: no archive, the machine, damage, new features."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from tidewheel.indexing.errors import Damaged, InvalidInput, TidewheelError, Unavailable
from tidewheel.indexing.printable import one_line
from tidewheel.storage.location import Location
from tidewheel.storage.machine import machine_fault
from tidewheel.storage.panics import panics_told

READER_VERSION_MAX = 1
WRITER_VERSION_MAX = 2
GAP_PAUSES_S = (0.01, 0.05, 0.25)
LOG_REMEDY = (
    "restore the file from a copy of _delta_log; a checkpoint may be deleted, with _last_checkpoint, as long as every "
    "log entry is there"
)
FOREIGN_PROPERTIES = ("delta.enableChangeDataFeed", "delta.enableDeletionVectors", "delta.enableRowTracking")


def open_table(location: Location, version: int | None) -> DeltaTable:
    """Open a table at its newest version, or the one asked for."""
    with log_read(location, version):
        return _read_log(location, version)


@contextmanager
def log_read(location: Location, version: int | None) -> Iterator[None]:
    """Tell failures apart around what reads a log: much of a checkpoint is read only when it is asked for."""
    try:
        with panics_told():
            yield
    except TidewheelError:
        raise
    except TableNotFoundError as error:
        raise InvalidInput(
            f"there is no archive at {location.uri}", "check the path, or create it: tidewheel init ARCHIVE"
        ) from error
    except (DeltaError, OSError, ValueError) as error:
        _refuse_no_folder(location, error)
        at = "" if version is None else f" at version {version}"
        doing = f"while reading the Delta log of {location.uri}"
        raise machine_fault(str(error), doing) or Damaged(
            f"the Delta log of {location.uri}{at} cannot be read: {_faults_in_log(location) or one_line(str(error))}",
            LOG_REMEDY,
        ) from error


def _read_log(location: Location, version: int | None) -> DeltaTable:
    """Open the table. A folder listed while entries appear in it may show one without the one before: look again."""
    for pause_s in (*GAP_PAUSES_S, None):
        try:
            return DeltaTable(location.delta_uri, version=version, storage_options=location.storage_options)
        except DeltaError as error:
            if pause_s is None or "found gap" not in str(error):
                raise
            time.sleep(pause_s)
    raise AssertionError("the last look returns or raises")


def _refuse_no_folder(location: Location, error: Exception) -> None:
    """Refuse a file, a device or a pipe: that is no damaged archive. Object stores have none of these."""
    if location.is_local and os.path.lexists(location.uri) and not os.path.isdir(location.uri):
        raise InvalidInput(
            f"{location.uri} is not a folder, so there is no archive", "give the folder of an archive's table"
        ) from error


def _faults_in_log(location: Location) -> str:
    from tidewheel.storage.log_faults import log_faults

    try:
        return "; ".join(log_faults(location))
    except OSError as error:
        if location.is_local:
            raise
        # A store that answers, and not as one: most often the address is that of something else.
        raise Unavailable(
            f"the Delta log of {location.uri} cannot be listed: {one_line(str(error))}",
            "see that AWS_ENDPOINT_URL is the address of an object store, then run the command again",
        ) from error


def refuse_unknown_features(location: Location, table: DeltaTable) -> None:
    """Refuse a table that needs more than this program knows."""
    protocol = table.protocol()
    found = [*(protocol.reader_features or ()), *(protocol.writer_features or ())]
    configuration = table.metadata().configuration
    found += [name for name in FOREIGN_PROPERTIES if configuration.get(name) == "true"]
    if configuration.get("delta.columnMapping.mode", "none") != "none":
        found.append("delta.columnMapping.mode")
    if protocol.min_reader_version > READER_VERSION_MAX or protocol.min_writer_version > WRITER_VERSION_MAX or found:
        raise InvalidInput(
            f"the table at {location.uri} needs reader version {protocol.min_reader_version}, writer version "
            f"{protocol.min_writer_version} and {', '.join(found) or 'no features'}; this program knows "
            f"{READER_VERSION_MAX} and {WRITER_VERSION_MAX} without features, and reads nothing it does not know",
            "undo the change with the program that made it, or upgrade tidewheel",
        )
