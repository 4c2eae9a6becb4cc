"""Checkpoints of the log: one writer's is enough, and each is read back before anybody relies on it.

Two processes may write the checkpoint of one version at once: the path is the same for both, and no store refuses the
second. So nobody writes one that is there, and its writer reads it back; if it is not whole it is deleted. That loses
nothing: the log's entries stay until vacuum has read the checkpoint that takes their place.
"""

from __future__ import annotations

import json
import logging
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from tidewheel.commits.fail_points import reach
from tidewheel.indexing.errors import Damaged
from tidewheel.indexing.printable import one_line
from tidewheel.indexing.rules.vacuum import StoredFile
from tidewheel.storage.location import Location

LOG = logging.getLogger(__name__)
_LAST = "_delta_log/_last_checkpoint"


def write_checkpoint(location: Location, table: DeltaTable) -> None:
    """Write a checkpoint at the table's version, unless there is one. Cost: writing it, and reading it once."""
    version = table.version()
    if is_there(location, version):
        return
    reach("checkpoint_begun")
    table.create_checkpoint()
    fault = checkpoint_fault(location, version, table.get_add_actions().num_rows)
    if fault:
        LOG.warning("the checkpoint of version %s of %s is deleted again: %s", version, location.uri, fault)
        _delete(location, version)


def is_there(location: Location, version: int) -> bool:
    """Tell whether there is a checkpoint of a version. Cost: a look at its name, however long the log is."""
    return location.has(_path(version)) == [True]


def checkpoint_fault(location: Location, version: int, files: int) -> str:
    """Return the fault of a checkpoint that must name so many files; nothing if it is whole."""
    try:
        with location.filesystem.open_input_file(location.child(_path(version))) as source:
            # Some at a time: of a million files it would be a gigabyte and more.
            batches = (batch.column("add") for batch in pq.ParquetFile(source).iter_batches(columns=["add"]))
            named = sum(len(adds) - adds.null_count for adds in batches)
    except (OSError, pa.ArrowException, KeyError) as error:
        return str(error)
    return "" if named == files else f"it names {named} files, the version has {files}"


def refuse_unreadable(location: Location, checkpoint: StoredFile) -> None:
    """Refuse to rely on a checkpoint that cannot be read. Cost: its footer."""
    try:
        with location.filesystem.open_input_file(location.child(checkpoint.path)) as source:
            pq.ParquetFile(source)
    except (OSError, pa.ArrowException) as error:
        raise Damaged(
            f"the checkpoint {checkpoint.path} cannot be read: {one_line(str(error))}. The log was not cleaned",
            "delete that checkpoint and run the command again: another one is written",
        ) from error


def _delete(location: Location, version: int) -> None:
    """Delete a checkpoint, its pointer first: without it readers list the log, a pointer to nothing stops some."""
    with suppress(OSError, ValueError):
        if json.loads(location.read_bytes(location.child(_LAST)))["version"] == version:
            location.delete(_LAST)
    with suppress(FileNotFoundError):
        location.delete(_path(version))


def _path(version: int) -> str:
    return f"_delta_log/{version:020d}.checkpoint.parquet"
