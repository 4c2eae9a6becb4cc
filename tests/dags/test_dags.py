"""DAGs from archive files: what Airflow sees of them, how quickly, and what their tasks do on a real small archive."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.toml_archives import TomlArchive
from tidewheel.indexing.core.slots import moment
from tidewheel.indexing.errors import Conflict, InvalidInput, Unavailable

# Airflow warns of its own inner life while it is imported and used.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

IDS = ("{0}", "{0}__maintenance", "{0}__backfill")
START = "start = 2026-11-18T00:00:00Z"
HEAVY = ("pyspark", "pandas", "duckdb", "deltalake", "pyarrow", "numpy")


@pytest.fixture
def tide(tmp_path: Path) -> TomlArchive:
    archive = TomlArchive(tmp_path)
    archive.write_file()
    return archive


def bag_of(folder: Path) -> Any:
    """Airflow's view of a folder of archive files."""
    from airflow.dag_processing.dagbag import DagBag

    from tidewheel.dags.bundle import ArchivesBundle

    bundle = ArchivesBundle(name="tidewheel", folder=str(folder))
    bundle.initialize()
    return DagBag(dag_folder=str(bundle.path), bundle_path=bundle.path)


def dags_of(archive: TomlArchive) -> dict[str, Any]:
    from tidewheel.dags.factory import archive_dags

    return archive_dags(archive.path)


# What Airflow sees.


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
    from tidewheel.dags.bundle import dag_files

    code = dag_files(tide.path.parent)["tide.py"]
    assert '# max_lifetime = "4h"' in code.splitlines()


def test_a_bundle_writes_only_what_changed(tide: TomlArchive) -> None:
    from tidewheel.dags.bundle import ArchivesBundle

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
    from tidewheel.dags.pools import pools_document

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
from tidewheel.dags.bundle import ArchivesBundle
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


# What the tasks do.


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


@pytest.mark.usefixtures("spark")
def test_one_archive_through_all_its_tasks(tide: TomlArchive, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

    monkeypatch.setenv("TIDEWHEEL_METRICS", str(tide.folder / "metrics"))
    tide.write_batches(range(K, K + 3))
    context = context_of(tide, K, K + 2)
    receipt = work(tide, "tide", "update", context)
    assert (receipt["slots"], receipt["version"], receipt["rows_in"]) == (3, 1, 120)
    assert (receipt["from"], receipt["to"]) == ("2025-11-18T00:00:00Z", "2025-11-18T01:00:00Z")
    archive, by_slot = dags_of(tide)["tide"].task_dict["update"].outlets
    told = context["outlet_events"]
    assert told[archive].extra == receipt
    # What has a key starts no DAG that has none: the archive's own event stays without.
    assert told[archive].partition_keys == set()
    assert told[by_slot].partition_keys == {f"2025-11-18T00:{minute}:00" for minute in ("00", "20", "40")}
    assert tide.content() == tide.expected(range(K, K + 3))
    assert (
        'tidewheel_rows_total{archive="tide",fate="stored"}'
        in (tide.folder / "metrics/tidewheel_tide.prom").read_text()
    )
    # The same run again, with corrected data.
    tide.write_batches([K + 1], edition=1)
    assert work(tide, "tide", "update", context_of(tide, K, K + 2))["version"] == 2
    assert tide.content() == tide.expected(range(K, K + 3), {K + 1: 1})
    # A range, many slots in each commit.
    tide.write_batches(range(K + 3, K + 10))
    form: dict[str, Any] = {"start": "2025-11-18T01:00:00Z", "end": "2025-11-18T03:20:00Z", "slots_per_commit": 4}
    flags: dict[str, Any] = dict.fromkeys(
        ("missing_only", "newest_first", "allow_shrink", "allow_jump", "allow_future", "allow_many"), False
    )
    context = context_of(tide, None, **form, **flags)
    assert work(tide, "tide__backfill", "backfill", context) == {"slots": 7, "commits": 2, "version": 4}
    event = context["outlet_events"][archive].extra
    assert (event["slots"], event["rows_in"], event["version"]) == (7, 280, 4)
    assert (event["from"], event["to"]) == ("2025-11-18T01:00:00Z", "2025-11-18T03:20:00Z")
    assert len(context["outlet_events"][by_slot].partition_keys) == 7
    context["params"]["missing_only"] = True
    with pytest.raises(AirflowSkipException, match="no slot of the range was missing"):
        work(tide, "tide__backfill", "backfill", context)
    assert tide.content() == tide.expected(range(K, K + 10), {K + 1: 1})
    # Keys come from a file, so that Airflow never knows them.
    keys = tide.folder / "keys.txt"
    keys.write_text("k1\nk2\n", encoding="utf-8")
    context = context_of(tide, None, keys_file=str(keys), where="", dry_run=False)
    assert work(tide, "tide__maintenance", "forget", context)["operation"] == "forget"
    kept = [row for row in tide.expected(range(K, K + 10), {K + 1: 1}) if row[2] not in ("k1", "k2")]
    assert tide.content() == kept
    # The layout of the file is changed: updates refuse until the migration has run.
    text = tide.path.read_text(encoding="utf-8")
    tide.path.write_text(text.replace("expiration_classes = 3", "expiration_classes = 4"), encoding="utf-8")
    with pytest.raises(AirflowFailException, match="contradicts its table"):
        work(tide, "tide", "update", context_of(tide, K, K + 2))
    context = context_of(tide, None, rebuild=True, dry_run=False)
    assert work(tide, "tide__maintenance", "migrate", context)["operation"] == "migrate"
    assert tide.content() == kept
    # The timer: all of it is long past, so everything expires, and what was never brought is not missed any more.
    maintain = context_of(tide, None, operation="maintain")
    assert work(tide, "tide__maintenance", "expire", maintain)["operation"] == "expire"
    assert work(tide, "tide__maintenance", "vacuum", maintain)["version"] == 7
    assert work(tide, "tide__maintenance", "audit", maintain)["clean"]
    assert tide.content() == []


@pytest.mark.parametrize("dag", ["tide__maintenance"])
@pytest.mark.parametrize("task", ["expire", "vacuum", "audit", "watch"])
def test_maintenance_has_nothing_to_do_before_the_first_update(tide: TomlArchive, dag: str, task: str) -> None:
    from airflow.sdk.exceptions import AirflowSkipException

    with pytest.raises(AirflowSkipException, match="the first update creates it"):
        work(tide, dag, task, context_of(tide, None, operation="maintain"))


def test_a_run_without_an_interval_is_refused_with_the_command_that_works(tide: TomlArchive) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    with pytest.raises(AirflowFailException) as refused:
        work(tide, "tide", "update", context_of(tide, None))
    said = str(refused.value)
    assert "has no data interval" in said
    assert (
        "\n    airflow backfill create --dag-id tide --from-date 2025-11-18T02:00:00Z --to-date 2025-11-18T02:00:00Z "
        "--reprocess-behavior completed\n" in said
    )
    assert '"start": "2025-11-18T02:00:00Z", "end": "2025-11-18T03:00:00Z"' in said


def test_an_interval_that_cuts_a_slot_is_refused(tide: TomlArchive) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    context = context_of(tide, K)
    context["dag_run"].data_interval_end -= timedelta(minutes=5)
    with pytest.raises(AirflowFailException, match="not hold\nwhole slots"):
        work(tide, "tide", "update", context)


def test_the_source_is_waited_for(tide: TomlArchive) -> None:
    source = dags_of(tide)["tide"].task_dict["source"]
    context = {**context_of(tide, K, K + 2), "dag": source.dag}
    assert not source.poke(context)
    tide.write_batches([K, K + 2])
    assert not source.poke(context)
    tide.write_batches([K + 1])
    assert source.poke(context)


def test_a_table_that_vanished_is_not_created_anew(tide: TomlArchive) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    context = context_of(tide, K)
    context["prev_data_interval_end_success"] = moment(tide.axis.start_us(K))
    with pytest.raises(AirflowFailException, match="runs of this DAG were successful before"):
        work(tide, "tide", "update", context)


# Errors keep their kind.


class Broken:
    """An archive whose update raises, in place of the real one."""

    def __init__(self, archive: TomlArchive, error: Exception, found: Any = None) -> None:
        self.axis, self.now_us = archive.axis, lambda: 0
        self.job = archive.open().job
        self.error, self.found = error, found

    def snapshot(self) -> None:
        return None

    def update(self, *bounds: str, dry_run: bool = False, **confirmed: bool) -> None:
        raise self.error


def raised_by(tide: TomlArchive, error: Exception, context: dict[str, Any]) -> BaseException:
    from airflow.sdk.exceptions import AirflowException

    operator = dags_of(tide)["tide"].task_dict["update"]
    operator.opened = lambda: Broken(tide, error)
    context["dag"] = operator.dag
    with pytest.raises((AirflowException, RuntimeError, OSError)) as caught:
        operator.execute(context)
    return caught.value


def test_what_a_retry_cannot_mend_fails_at_once(tide: TomlArchive) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    from tidewheel.indexing.errors import Damaged, NotInstalled

    for kind in (InvalidInput, Damaged, NotInstalled):
        error = raised_by(tide, kind("it is wrong", "do this"), context_of(tide, K))
        assert isinstance(error, AirflowFailException)
        assert str(error) == f"{kind.kind}: it is wrong\nwhat to do:\n    do this"
        assert error.__suppress_context__


def test_what_a_retry_may_mend_is_left_to_airflow(tide: TomlArchive) -> None:
    for error in (Conflict("overtaken"), Unavailable("Spark was killed"), ConnectionError("the gateway is gone")):
        assert raised_by(tide, error, context_of(tide, K)) is error


def test_a_refusal_says_how_to_confirm_it_in_airflow(tide: TomlArchive) -> None:
    from tidewheel.indexing.errors import Refused

    refused = Refused("far fewer records", "check the source, or confirm with --allow-shrink")
    assert str(raised_by(tide, refused, context_of(tide, K))) == (
        "refused: far fewer records\nwhat to do:\n    check the source, or confirm:\n    airflow backfill create "
        "--dag-id tide --from-date 2025-11-18T00:00:00Z --to-date 2025-11-18T00:00:00Z --reprocess-behavior completed "
        "--dag-run-conf '{\"allow_shrink\": true}'"
    )
