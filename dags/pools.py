"""The pools that archive files name, as `airflow pools import` takes them: one slot each, so one writer at a time.

    python -m tidewheel.dags.pools archives > pools.json && airflow pools import pools.json

A pool must exist before a task that names it is scheduled; Airflow leaves such a task waiting and says so only in the
scheduler's log. So an archive without `[schedule] pool` uses Airflow's default pool, and is correct all the same.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from tidewheel.indexing.errors import InvalidInput


def pools_document(folders: Iterable[Path]) -> dict[str, dict[str, object]]:
    """The pools of all readable archive files; faulty ones are reported by their own DAG."""
    from tidewheel.resolve import read_archive_file

    pools: dict[str, dict[str, object]] = {}
    for path in (path for folder in folders for path in sorted(folder.glob("*.toml"))):
        try:
            file = read_archive_file(path)
        except InvalidInput:
            continue
        if file.schedule.pool:
            said = pools.get(file.schedule.pool, {}).get("description", "writers of")
            pools[file.schedule.pool] = {
                "slots": 1,
                "description": f"{said} {file.name}",
                "include_deferred": False,
            }
    return pools


if __name__ == "__main__":
    json.dump(pools_document(Path(name) for name in sys.argv[1:] or ["archives"]), sys.stdout, indent=2)
