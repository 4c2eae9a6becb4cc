"""Which file of a Delta log keeps it from being opened: looked for only when opening has failed."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq

from tidewheel.storage.location import Location
from tidewheel.storage.log_files import list_log


def log_faults(location: Location) -> list[str]:
    """The files at fault, each with what is wrong. Cost: the whole log, read once."""
    log = list_log(location)
    faults = []
    for _, file in sorted(log.checkpoints.items()):
        try:
            with location.filesystem.open_input_file(location.child(file.path)) as source:
                pq.read_table(source, partitioning=None)
        except (OSError, pa.ArrowException) as error:
            faults.append(f"{file.path} cannot be read: {_gist(error)}")
    versions = sorted(log.entries)
    for version in range(versions[0], versions[-1]) if versions else ():
        if version not in log.entries:
            faults.append(f"_delta_log/{version:020d}.json is missing")
    for version in versions:
        try:
            lines = location.read_bytes(location.child(log.entries[version].path)).splitlines()
            for line in lines:
                json.loads(line)
        except (OSError, ValueError) as error:
            faults.append(f"{log.entries[version].path} cannot be read: {_gist(error)}")
    return faults + _missing_checkpoint(location, set(log.checkpoints))


def _missing_checkpoint(location: Location, there: set[int]) -> list[str]:
    """The checkpoint that `_last_checkpoint` names."""
    try:
        named = json.loads(location.read_bytes(location.child("_delta_log/_last_checkpoint")))["version"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [] if named in there else [f"_delta_log/{named:020d}.checkpoint.parquet is missing"]


def _gist(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
