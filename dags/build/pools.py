"""The pools that archive files name: one slot each, so one writer at a time.

Airflow leaves a task whose pool does not exist waiting for ever and says so only in the scheduler's log. So the
dag-processor makes what is missing each time it reads the folder; a pool that exists is left as it is, whatever its
slots. What cannot be made becomes an import error of the archives that name it.

    python -m tidewheel.dags.build.pools archives > pools.json && airflow pools import pools.json

makes them before the first start.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from tidewheel.indexing.core.definition import ArchiveFile
from tidewheel.indexing.errors import InvalidInput

PoolsDocument = dict[str, dict[str, object]]


def readable_files(folder: Path) -> dict[Path, ArchiveFile]:
    """The archive files of a folder; faulty ones are reported by their own DAG."""
    from tidewheel.resolve import read_archive_file

    files = {}
    for path in sorted(folder.glob("*.toml")):
        try:
            files[path] = read_archive_file(path)
        except InvalidInput:
            continue
    return files


def pools_of(files: Iterable[ArchiveFile]) -> PoolsDocument:
    """Their pools, as `airflow pools import` takes them."""
    pools: PoolsDocument = {}
    for file in files:
        if pool := file.schedule.pool:
            said = pools.get(pool, {}).get("description", "writers of")
            pools[pool] = {"slots": 1, "description": f"{said} {file.name}", "include_deferred": False}
    return pools


def pools_document(folders: Iterable[Path]) -> PoolsDocument:
    """The pools of all readable archive files."""
    return pools_of(file for folder in folders for file in readable_files(folder).values())


def make_missing(pools: Mapping[str, Mapping[str, object]]) -> dict[str, str]:
    """Make those that Airflow does not have; why one could not be made, by its name. Needs Airflow's database."""
    from airflow.models.pool import Pool
    from airflow.utils.session import create_session

    with create_session() as session:
        known = {pool.pool for pool in Pool.get_pools(session=session)}
    refused = {}
    for name in pools.keys() - known:
        try:
            with create_session() as session:
                Pool.create_or_update_pool(name, **pools[name], session=session)  # type: ignore[arg-type]
        except Exception as error:
            # Another dag-processor may have been first.
            if Pool.get_pool(name) is None:
                refused[name] = str(error).partition("\n")[0]
    return refused


if __name__ == "__main__":
    json.dump(pools_document(Path(name) for name in sys.argv[1:] or ["archives"]), sys.stdout, indent=2)
