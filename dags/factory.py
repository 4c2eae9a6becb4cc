"""From an archive file to its DAGs. Airflow calls this often: nothing here opens a table or imports an engine.

netflow                 the schedule               netflow__backfill    a range of slots, many in each commit
netflow__maintenance    expire, vacuum, audit,     netflow__migrate     to another layout
                        watch                      netflow__forget      records, for good
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from airflow.sdk import DAG

from tidewheel.dags.maintenance import maintenance_dag
from tidewheel.dags.operations import operation_dags
from tidewheel.dags.scheduled import scheduled_dag
from tidewheel.indexing.errors import InvalidInput


def archive_dags(path: str | Path) -> dict[str, DAG]:
    """The DAGs of one archive file, by id; a faulty file raises with all its faults."""
    from tidewheel.resolve import read_archive_file

    archive_file = os.fspath(path)
    file = read_archive_file(Path(path))
    if file.name != Path(path).stem:
        raise InvalidInput(
            f"{archive_file} describes the archive {file.name}; commands and DAGs find an archive by its file's name",
            f"rename the file to {file.name}.toml, or the archive",
        )
    common: dict[str, Any] = {"tags": ["tidewheel", file.name], "render_template_as_native_obj": False}
    dags = [
        scheduled_dag(archive_file, file, common),
        maintenance_dag(archive_file, file, common),
        *operation_dags(archive_file, file, common),
    ]
    return {dag.dag_id: dag for dag in dags}
