"""Faults that no archive file shows by itself, only the folder as a whole, or Airflow: what each file must be told."""

from __future__ import annotations

import logging
import os
import shlex
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from tidewheel.dags.build.pools import make_missing, pools_of
from tidewheel.dags.tasks.wording import typed_here
from tidewheel.indexing.core.definition import ArchiveFile

LOG = logging.getLogger(__name__)
Fault = tuple[str, str]  # what is wrong, and what to do


def folder_faults(files: Mapping[Path, ArchiveFile]) -> dict[Path, Fault]:
    """The files that are right by themselves and must not run all the same."""
    return {**_shared_tables(files), **_pools_not_made(files)}


def _shared_tables(files: Mapping[Path, ArchiveFile]) -> dict[Path, Fault]:
    """The archives that name the table of another: nobody can tell whose it is."""
    named: dict[str, list[Path]] = defaultdict(list)
    for path, file in files.items():
        named[_table(file.path)].append(path)
    faults = {}
    for paths in (paths for paths in named.values() if len(paths) > 1):
        for path in paths:
            faults[path] = (
                f"{' and '.join(other.name for other in paths)} name the same table, {files[path].path}, and a table "
                "holds one archive: none of them runs. Nothing was changed",
                "give each an [archive] path of its own, or remove the copy",
            )
    return faults


def _table(path: str) -> str:
    """One name for a table, however it is written."""
    return path.replace("s3a://", "s3://", 1).rstrip("/") if "://" in path else os.path.realpath(path)


def _pools_not_made(files: Mapping[Path, ArchiveFile]) -> dict[Path, Fault]:
    """Make the pools that are missing; the archives whose pool could not be made."""
    pools = pools_of(files.values())
    if not pools or not _has_database():
        return {}
    try:
        refused = make_missing(pools)
    except Exception as error:
        # Nothing is known about them then; they may well be there.
        LOG.warning("the pools %s could not be looked up: %s", ", ".join(pools), error)
        return {}
    return {
        path: (
            f"[schedule] pool = {file.schedule.pool!r} does not exist and could not be made: "
            f"{refused[file.schedule.pool]}. Its tasks would wait for ever",
            typed_here(f"airflow pools set {shlex.quote(file.schedule.pool)} 1 'one writer at a time'", str(path)),
        )
        for path, file in files.items()
        if file.schedule.pool in refused
    }


def _has_database() -> bool:
    """Only Airflow's own processes have its database: the dag-processor, not the tasks, which read this folder too."""
    # As Airflow tells them apart. A task may inherit the mark of the scheduler that it was forked from.
    in_task = hasattr(sys.modules.get("airflow.sdk.execution_time.task_runner"), "SUPERVISOR_COMMS")
    return os.environ.get("_AIRFLOW_PROCESS_CONTEXT") == "server" and not in_task
