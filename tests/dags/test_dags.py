"""DAGs from archive files: what Airflow sees of them, and how quickly."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.archives.toml_archives import TomlArchive
from tests.support.services.dag_runs import bag_of, dags_of, pytestmark, tide
from tidewheel.indexing.core.slots import moment

__all__ = ["pytestmark", "tide"]

IDS = ("{0}", "{0}__maintenance", "{0}__backfill")
START = "start = 2026-11-18T00:00:00Z"
HEAVY = ("pyspark", "pandas", "duckdb", "deltalake", "pyarrow", "numpy")


def test_an_archive_file_becomes_three_dags(tide: TomlArchive) -> None:
    bag = bag_of(tide.path.parent)
    assert bag.import_errors == {}
    assert sorted(bag.dags) == sorted(one.format("tide") for one in IDS)
    tasks = {name: [task.task_id for task in dag.topological_sort()] for name, dag in bag.dags.items()}
    assert tasks["tide"] == ["source", "update"]
    assert tasks["tide__backfill"] == ["backfill"]
    assert tasks["tide__maintenance"][0] == "operation"
    assert set(tasks["tide__maintenance"]) == {"operation", "expire", "vacuum", "audit", "watch", "migrate", "forget"}
    # A run is judged by its last tasks: none may hide what another found.
    assert {task.task_id for task in bag.dags["tide__maintenance"].leaves} == {"audit", "watch", "migrate", "forget"}
    assert bag.dags["tide__maintenance"].task_dict["operation"].downstream_task_ids == {"expire", "migrate", "forget"}


def test_the_manual_names_every_dag_and_task(tide: TomlArchive) -> None:
    manual = (Path(__file__).parent.parent.parent / "docs" / "airflow.md").read_text(encoding="utf-8")
    for name, dag in dags_of(tide).items():
        row = next(
            line for line in manual.splitlines() if line.startswith(f"| `{name.replace('tide', '<archive>')}` |")
        )
        assert all(f"`{task}`" in row for task in dag.task_ids)


def test_a_broken_file_is_named_and_hides_nobody(tide: TomlArchive) -> None:
    broken = tide.path.with_name("broken.toml")
    broken.write_text('[archive]\nname = "broken"\n[time]\ninterval = 300\n', encoding="utf-8")
    bag = bag_of(tide.path.parent)
    assert list(bag.import_errors) == ["broken.py"]
    said = bag.import_errors["broken.py"]
    assert f"{broken}:4 [time] interval = 300: a number without a unit" in said
    assert "[archive] key: required" in said
    assert "tide" in bag.dags
    broken.unlink()
    assert bag_of(tide.path.parent).import_errors == {}


def test_a_file_that_is_no_text_is_named_too(tide: TomlArchive) -> None:
    tide.path.with_name("binary.toml").write_bytes(b"\xff\xfe")
    bag = bag_of(tide.path.parent)
    assert list(bag.import_errors) == ["binary.py"]
    assert "cannot be read" in bag.import_errors["binary.py"]


def test_two_files_with_one_table_are_both_named(tide: TomlArchive) -> None:
    """Airflow itself speaks of two assets with one address, and leaves one of the DAGs out."""
    text = tide.path.read_text(encoding="utf-8").replace('name = "tide"', 'name = "copy"')
    copy = tide.path.with_name("copy.toml")
    copy.write_text(text.replace('"../tables/tide"', '"../archives/../tables/tide/"'), encoding="utf-8")
    errors = bag_of(tide.path.parent).import_errors
    assert sorted(errors) == ["copy.py", "tide.py"]
    for said in errors.values():
        assert f"copy.toml and tide.toml name the same table, {tide.folder}/tables/tide" in said
        assert "give each an [archive] path of its own" in said
    copy.write_text(text.replace("tables/tide", "tables/copy"), encoding="utf-8")
    assert bag_of(tide.path.parent).import_errors == {}


def test_an_archive_without_a_schedule_is_filled_by_hand(tide: TomlArchive) -> None:
    tide.write_file(cron="@never")
    assert sorted(dags_of(tide)) == ["tide__backfill", "tide__maintenance"]


def test_the_archives_of_this_repository_wait_for_nobody() -> None:
    """`make airflow` shows them: none may wait for files that nothing writes."""
    bag = bag_of(Path(__file__).parent.parent.parent / "archives")
    assert bag.import_errors == {}
    assert not any(task.task_type == "SourceThere" for dag in bag.dags.values() for task in dag.tasks)


def test_the_name_of_the_archive_is_that_of_its_file(tide: TomlArchive) -> None:
    tide.path.rename(tide.path.with_name("other.toml"))
    bag = bag_of(tide.path.parent)
    assert "rename the file to tide.toml" in bag.import_errors["other.py"]


def test_the_code_page_shows_the_archive_file(tide: TomlArchive) -> None:
    from tidewheel.dags.build.bundle import dag_files

    code = dag_files(tide.path.parent)["tide.py"]
    assert '# max_lifetime = "4h"' in code.splitlines()


def test_a_bundle_writes_only_what_changed(tide: TomlArchive) -> None:
    from tidewheel.dags.build.bundle import ArchivesBundle

    bundle = ArchivesBundle(name="tidewheel", folder=str(tide.path.parent))
    bundle.initialize()
    [code] = bundle.path.glob("*.py")
    os.utime(code, (1, 1))
    bundle.refresh()
    assert code.stat().st_mtime == 1
    tide.write_file(START + '\npool = "tide"')
    bundle.refresh()
    assert code.stat().st_mtime > 1
    tide.path.unlink()
    bundle.refresh()
    assert not code.exists()


def test_the_schedule_says_all_that_airflow_must_know(tide: TomlArchive) -> None:
    tide.write_file(f'{START}\npool = "tide"\nfreshness = "90m"')
    dag = dags_of(tide)["tide"]
    assert (type(dag.timetable).__name__, dag.timetable.cron) == ("ArchiveTimetable", "0 * * * *")
    assert (dag.catchup, dag.max_active_runs) == (True, 16)
    assert moment(dag.timetable.start_us).isoformat() == "2026-11-18T00:00:00+00:00"
    source, update = dag.task_dict["source"], dag.task_dict["update"]
    assert (source.mode, source.pool, source.poke_interval) == ("reschedule", "default_pool", 120)
    assert (update.pool, update.retries, update.execution_timeout) == ("tide", 4, timedelta(hours=1))
    assert [asset.name for asset in update.outlets] == ["tide", "tide.slots"]
    assert [asset.uri for asset in update.inlets] == [f"file://{tide.folder}/batches?as=batches"]
    [deadline] = dag.deadline
    assert deadline.interval == timedelta(minutes=90)
    assert "4h at most (12 slots)" in dag.doc_md
    assert dag.tags == {"tidewheel", "tide"}


def test_without_pool_and_start_one_run_at_a_time_and_no_catch_up(tide: TomlArchive) -> None:
    tide.write_file()
    dag = dags_of(tide)["tide"]
    assert (dag.catchup, dag.max_active_runs, dag.deadline) == (False, 1, None)
    assert dag.task_dict["update"].pool == "default_pool"


def test_pools_hold_one_writer(tide: TomlArchive) -> None:
    from tidewheel.dags.build.pools import pools_document

    tide.write_file('pool = "writers"')
    assert pools_document([tide.path.parent]) == {
        "writers": {"slots": 1, "description": "writers of tide", "include_deferred": False}
    }


@pytest.mark.parametrize(
    ("name", "params", "wrong"),
    [
        ("backfill", {"start": "yesterday", "end": "2026-11-18T01:00:00Z"}, "does not match"),
        ("backfill", {"start": "2026-11-18T00:00:00Z"}, "end"),
        (
            "backfill",
            {"start": "2026-11-18T00:00:00Z", "end": "2026-11-18T01:00:00Z", "slots_per_commit": 0},
            "minimum",
        ),
        ("maintenance", {"operation": "destroy"}, "not one of"),
        ("maintenance", {"rebuild": "yes"}, "boolean"),
        ("maintenance", {"keys_file": 7}, "string"),
    ],
)
def test_parameters_are_checked_before_a_run_exists(
    tide: TomlArchive, name: str, params: dict[str, Any], wrong: str
) -> None:
    from airflow.sdk.exceptions import ParamValidationError

    form = dags_of(tide)[f"tide__{name}"].params
    with pytest.raises(ParamValidationError, match=wrong):
        checked(form, params)


def checked(form: Any, params: dict[str, Any]) -> None:
    """What Airflow does with the configuration of a run."""
    form.update(params)
    form.validate()


def test_fifty_archives_are_parsed_in_a_second_without_an_engine(tide: TomlArchive) -> None:
    """In a process of its own, beyond Airflow's own import; processor time, because test machines are busy."""
    text = tide.path.read_text(encoding="utf-8")
    for number in range(50):
        name = f"tide{number:02d}"
        tide.path.with_name(f"{name}.toml").write_text(
            text.replace('"tide"', f'"{name}"').replace("tables/tide", f"tables/{name}"), encoding="utf-8"
        )
    tide.path.unlink()
    program = f"""
import sys, time
from airflow.dag_processing.dagbag import DagBag
from tidewheel.dags.build.bundle import ArchivesBundle
import airflow.sdk
from airflow.sdk import DAG
began = time.process_time()
bundle = ArchivesBundle(name="tidewheel", folder={str(tide.path.parent)!r})
bundle.initialize()
bag = DagBag(dag_folder=str(bundle.path), bundle_path=bundle.path)
spent = time.process_time() - began
heavy = [name for name in {HEAVY!r} if name in sys.modules]
sys.stderr.write(f"RESULT {{len(bag.dags)}} {{len(bag.import_errors)}} {{spent:.3f}} {{heavy}}")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    dags, errors, spent, heavy = done.stderr.rpartition("RESULT ")[2].split(" ", 3)
    assert (dags, errors, heavy) == ("150", "0", "[]")
    assert float(spent) < 1.0
