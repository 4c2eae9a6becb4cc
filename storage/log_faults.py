"""Files of a Delta log that keep it from being opened, or believed: loaded only after that has failed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pyarrow.parquet as pq

from tidewheel.storage.decoding import READ_ERRORS, gist
from tidewheel.storage.location import Location
from tidewheel.storage.log_files import list_log


def log_faults(location: Location) -> list[str]:
    """Return the files at fault, each with its fault. Cost: the whole log, read once."""
    log = list_log(location)
    faults = []
    for _, file in sorted(log.checkpoints.items()):
        try:
            with location.filesystem.open_input_file(location.child(file.path)) as source:
                pq.read_table(source, partitioning=None)
        except READ_ERRORS as error:
            faults.append(f"{file.path} cannot be read: {_gist(error)}")
    versions = sorted(log.entries)
    for version in range(versions[0], versions[-1]) if versions else ():
        if version not in log.entries:
            faults.append(f"_delta_log/{version:020d}.json is missing")
    for version in versions:
        try:
            lines = location.read_bytes(location.child(log.entries[version].path)).splitlines()
            if not lines:
                raise ValueError("it is empty")
            for line in lines:
                json.loads(line)
        except (OSError, ValueError) as error:
            faults.append(f"{log.entries[version].path} cannot be read: {_gist(error)}")
    return faults + missing_checkpoint(location, set(log.checkpoints))


def table_faults(location: Location) -> list[str]:
    """Return the faults of a small table beside an archive, with its data files. Cost: all of it, read once."""
    if not location.has_log():
        return []
    faults = log_faults(location)
    for info in location.files_below(""):
        path = location.relative(info.path)
        if path.endswith(".parquet") and not path.startswith("_"):
            try:
                with location.filesystem.open_input_file(info.path) as source:
                    pq.ParquetFile(source, page_checksum_verification=True).read()
            except READ_ERRORS as error:
                faults.append(f"{path} cannot be read: {_gist(error)}")
    return faults


def unlike_their_commits(location: Location, version: int, head_id: str) -> str:
    """Return the files of a version's log that do not tell of their own version; if all do, all of them.

    Every entry of an archive ends with its head, which is its version, and a checkpoint keeps it.
    """
    log = list_log(location)
    start = max((at for at in log.checkpoints if at <= version), default=-1)
    heads = {log.entries[at].path: at for at in range(start + 1, version + 1) if at in log.entries}
    wrong = [path for path, at in heads.items() if _entry_head(location, path, head_id) != at]
    if start >= 0:
        checkpoint = log.checkpoints[start].path
        wrong += [checkpoint] if _checkpoint_head(location, checkpoint, head_id) != start else []
        heads[checkpoint] = start
    if wrong:
        return "; ".join(f"{path} is not the one that was written for version {heads[path]}" for path in wrong)
    return f"one of {', '.join(heads)} is not what was written"


def _entry_head(location: Location, path: str, head_id: str) -> int | None:
    lines = location.read_bytes(location.child(path)).splitlines()
    try:
        return _head([json.loads(lines[-1])["txn"]], head_id)
    except (ValueError, KeyError, IndexError, TypeError):
        return None


def _checkpoint_head(location: Location, path: str, head_id: str) -> int | None:
    with location.filesystem.open_input_file(location.child(path)) as source:
        return _head(pq.read_table(source, columns=["txn"]).column("txn").to_pylist(), head_id)


def _head(transactions: Iterable[dict[str, Any] | None], head_id: str) -> int | None:
    return next((int(one["version"]) for one in transactions if one and one["appId"] == head_id), None)


def missing_checkpoint(location: Location, there: set[int]) -> list[str]:
    """Return the checkpoint that `_last_checkpoint` names, if it is missing."""
    try:
        named = json.loads(location.read_bytes(location.child("_delta_log/_last_checkpoint")))["version"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [] if named in there else [f"_delta_log/{named:020d}.checkpoint.parquet is missing"]


def _gist(error: Exception) -> str:
    return gist(error)[:200]
