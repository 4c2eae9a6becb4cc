"""From an archive file to its DAGs. Airflow calls this often: nothing here opens a table or imports an engine.

netflow                 the schedule; none with cron = "@never"
netflow__backfill       a range of slots, many in each commit
netflow__maintenance    expire, vacuum, audit, watch; by hand, to migrate or to forget
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from airflow.sdk import DAG

from tidewheel.dags.build.backfilling import backfill_dag
from tidewheel.dags.build.folder_faults import Fault
from tidewheel.dags.build.maintenance_dag import maintenance_dag
from tidewheel.dags.build.scheduled import scheduled_dag
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.schedule.cron import NEVER


def archive_dags(path: str | Path, refused: Fault | None = None) -> dict[str, DAG]:
    """The DAGs of one archive file, by id; a faulty file raises with all its faults.

    `refused` is what only its surroundings show to be wrong with it.
    """
    from tidewheel.resolve import read_archive_file

    if refused:
        raise InvalidInput(*refused)
    archive_file = os.fspath(path)
    file = read_archive_file(Path(path))
    if file.name != Path(path).stem:
        raise InvalidInput(
            f"{archive_file} describes the archive {file.name}; commands and DAGs find an archive by its file's name",
            f"rename the file to {file.name}.toml, or the archive",
        )
    common: dict[str, Any] = {"tags": ["tidewheel", file.name], "render_template_as_native_obj": False}
    makers = [backfill_dag, maintenance_dag] if file.schedule.cron == NEVER else _MAKERS
    return {dag.dag_id: dag for dag in (make(archive_file, file, common) for make in makers)}


_MAKERS = [scheduled_dag, backfill_dag, maintenance_dag]
