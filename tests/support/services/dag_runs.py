"""DAGs of a small archive as Airflow sees them, and what it hands to their tasks."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.archives.toml_archives import TomlArchive
from tidewheel.indexing.core.slots import moment

# Airflow warns of its own inner life while it is imported and used.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture
def tide(tmp_path: Path) -> TomlArchive:
    archive = TomlArchive(tmp_path)
    archive.write_file()
    return archive


def bag_of(folder: Path) -> Any:
    """Airflow's view of a folder of archive files."""
    from airflow.dag_processing.dagbag import DagBag

    from tidewheel.dags.build.bundle import ArchivesBundle

    bundle = ArchivesBundle(name="tidewheel", folder=str(folder))
    bundle.initialize()
    return DagBag(dag_folder=str(bundle.path), bundle_path=bundle.path)


def dags_of(archive: TomlArchive) -> dict[str, Any]:
    from tidewheel.dags.build.factory import archive_dags

    return archive_dags(archive.path)


class Store(dict[str, Any]):
    """A task's own notes across its tries."""

    def set(self, key: str, value: Any) -> None:
        self[key] = value


def context_of(archive: TomlArchive, first: int | None, last: int | None = None, **params: Any) -> dict[str, Any]:
    """What Airflow hands to a task: a run over some slots, or one without an interval."""
    from airflow.sdk.execution_time.context import OutletEventAccessors

    axis = archive.axis
    start = None if first is None else moment(axis.start_us(first))
    end = None if first is None else moment(axis.end_us(first if last is None else last))
    run = SimpleNamespace(
        dag_id=archive.name,
        run_id="manual__1",
        run_type="manual",
        logical_date=start,
        data_interval_start=start,
        data_interval_end=end,
        conf={},
        run_after=moment(axis.start_us(K + 10)),
    )
    return {
        "dag_run": run,
        "params": params,
        "ti": SimpleNamespace(try_number=1),
        "task_state_store": Store(),
        "outlet_events": OutletEventAccessors(),
    }


K = TomlArchive(Path()).axis.slot_of(1_763_424_000_000_000)  # 2025-11-18T00:00Z


def work(archive: TomlArchive, dag: str, task: str, context: dict[str, Any]) -> Any:
    """Execute one task of an archive's DAGs."""
    operator = dags_of(archive)[dag].task_dict[task]
    context["dag"] = operator.dag
    # A sensor asks Airflow's own process when it began to wait.
    return operator.poke(context) if task == "source" else operator.execute(context)
