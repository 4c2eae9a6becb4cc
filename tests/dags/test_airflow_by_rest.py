"""Airflow as operators meet it: archives dropped into a live one, its REST API, and the commands that messages print.

Every command that a task's log prints is run as it stands, in a shell that knows nothing of this Airflow.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.error import HTTPError

import pytest

from scripts.native_services import free_port
from tests.support.archives.toml_archives import TomlArchive
from tests.support.services.airflow_page import RestPage, wait
from tidewheel.indexing.core.slots import TimeAxis
from tidewheel.playground.airflow import EmbeddedAirflow

pytestmark = pytest.mark.nightly

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
MINUTE_US = 60_000_000


@pytest.fixture
def airflow(tmp_path: Path) -> Iterator[EmbeddedAirflow]:
    """An Airflow that watches an empty folder."""
    (tmp_path / "archives").mkdir()
    settings = {
        "AIRFLOW__CORE__DEFAULT_TASK_RETRY_DELAY": "1",
        "TIDEWHEEL_SPARK_MASTER": "local[1]",
        "SPARK_DRIVER_MEMORY": "700m",
    }
    stack = EmbeddedAirflow(tmp_path / "airflow home", [tmp_path / "archives"], port=free_port(), settings=settings)
    stack.prepare()
    try:
        stack.start()
        yield stack
    finally:
        stack.stop()


def this_hour() -> datetime:
    return datetime.now(UTC).replace(minute=0, second=0, microsecond=0)


def slot_at(archive: TomlArchive, at: datetime) -> int:
    return archive.axis.slot_of(int(at.timestamp()) * 1_000_000)


def commands_in(lines: list[str]) -> list[str]:
    """The commands that a log prints, each on a line of its own."""
    return [line.strip() for line in lines if re.match(r"\s+\S*(commands'?/)?(airflow|tidewheel) [a-z]", line)]


def typed(command: str) -> subprocess.CompletedProcess[str]:
    """What a shell answers that knows nothing of this Airflow or this project."""
    return subprocess.run(
        ["bash", "-c", command], cwd="/", env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False
    )


def refused_log(page: RestPage, dag: str, run_id: str, task: str) -> list[str]:
    assert page.ended(dag, run_id) == "failed"
    return page.log(dag, run_id, task)


def test_what_is_refused_says_why_and_its_commands_work(airflow: EmbeddedAirflow, tmp_path: Path) -> None:
    page, now = RestPage(airflow), this_hour()
    tide = TomlArchive(tmp_path, span=30)
    first = slot_at(tide, now - 6 * HOUR)
    tide.write_batches(range(first, first + 27))
    # Dropped into a live Airflow, with a pool that nobody made.
    tide.write_file(f'start = {now - 2 * HOUR:%Y-%m-%dT%H:%M:%SZ}\npool = "dropped in"\nfreshness = "1m"')
    wait(airflow, "the archive's runs", lambda: set(_states(page).values()) == {"success"} and len(_states(page)) >= 2)
    assert page.call("/api/v2/pools/dropped%20in")["slots"] == 1
    assert page.call("/api/v2/importErrors")["import_errors"] == []

    # A date before the start: refused by the API, and by the task if the command line made the run.
    with pytest.raises(HTTPError) as early:
        page.trigger("tide", now - 4 * HOUR)
    assert early.value.code == 400
    assert "begins before [schedule] start" in str(early.value.__notes__)
    done = typed(f"'{airflow.commands}'/airflow dags trigger tide --logical-date {now - 4 * HOUR:%Y-%m-%dT%H:%M:%SZ}")
    assert done.returncode == 0, done.stderr
    run_id = next(run["dag_run_id"] for run in page.runs("tide") if run["run_type"] == "manual")
    log = refused_log(page, "tide", run_id, "source")
    assert "before [schedule] start" in " ".join(log)
    assert not any("pool" in line for line in log)
    [trigger] = commands_in(log)
    assert typed(trigger).returncode == 0
    wait(airflow, "the range", lambda: [run["state"] for run in page.runs("tide__backfill")] == ["success"])
    assert slot_at(tide, now - 4 * HOUR) in tide.applied()

    # A gap among what was due: the watch says so, with the command that fills it.
    assert page.ended("tide__maintenance", page.trigger("tide__maintenance")) == "success"
    text = tide.path.read_text(encoding="utf-8")
    tide.path.write_text(re.sub("start = .*", f"start = {now - 5 * HOUR:%Y-%m-%dT%H:%M:%SZ}", text), encoding="utf-8")
    log = refused_log(page, "tide__maintenance", page.trigger("tide__maintenance"), "watch")
    assert "slots are missing in archive tide" in " ".join(log)
    [trigger] = commands_in(log)
    assert typed(trigger).returncode == 0
    wait(airflow, "the gap", lambda: [run["state"] for run in page.runs("tide__backfill")] == ["success", "success"])
    assert set(range(slot_at(tide, now - 5 * HOUR), slot_at(tide, now))) <= set(tide.applied())

    # A run without a date, a key that no form has, a batch that shrank, a table that lost a file.
    log = refused_log(page, "tide", page.trigger("tide"), "source")
    backfill, trigger = commands_in(log)
    assert typed(backfill).returncode == 0
    assert typed(trigger).returncode == 0
    conf = {"start": f"{now - HOUR:%Y-%m-%dT%H:%M:%SZ}", "end": f"{now:%Y-%m-%dT%H:%M:%SZ}", "slot_per_commit": 2}
    log = refused_log(page, "tide__backfill", page.trigger("tide__backfill", conf=conf), "backfill")
    assert "did you mean slots_per_commit?" in " ".join(log)
    slot = slot_at(tide, now - HOUR)
    batch = tmp_path / "batches" / f"{slot}.json"
    batch.write_text(batch.read_text(encoding="utf-8").splitlines(keepends=True)[0], encoding="utf-8")
    log = refused_log(page, "tide", page.trigger("tide", now), "update")
    [confirm] = commands_in(log)
    assert typed(confirm).returncode == 0
    wait(airflow, "the confirmed run", lambda: page.states("tide", "backfill").get(now - HOUR) == "success")
    for path in (tmp_path / "tables" / "tide").glob("run-*/**/*.parquet"):
        path.unlink()
    # Whichever task of the maintenance meets it first.
    run_id = page.trigger("tide__maintenance")
    assert page.ended("tide__maintenance", run_id) == "failed"
    states = page.task_states("tide__maintenance", run_id)
    log = page.log("tide__maintenance", run_id, next(task for task in states if states[task] == "failed"))
    found = [typed(command) for command in commands_in(log)]
    assert found
    assert all(done.returncode in (0, 6) for done in found), [done.stderr for done in found]


COUNTED = """
[query]
of = "tide"
select = "count(*) as n"
group_by = ["key"]
window = "40m"
slide = "20m"
revise = "1d"
"""


def test_queries_dropped_into_a_live_airflow_are_answered(airflow: EmbeddedAirflow, tmp_path: Path) -> None:
    page, now = RestPage(airflow), this_hour()
    tide = TomlArchive(tmp_path, span=30)
    first = slot_at(tide, now - 2 * HOUR)
    tide.write_batches(range(first, first + 9))
    queries = tmp_path / "archives" / "queries"
    queries.mkdir()
    (queries / "counted.toml").write_text(COUNTED, encoding="utf-8")
    tide.write_file(f"start = {now - 2 * HOUR:%Y-%m-%dT%H:%M:%SZ}")
    wait(airflow, "the archive's runs", lambda: set(_states(page).values()) == {"success"} and len(_states(page)) >= 2)
    runs = [run["dag_run_id"] for run in page.runs("tide")]
    assert {page.task_states("tide", run)["refresh"] for run in runs} <= {"success", "skipped"}
    answered = tide.open().queries.ask("counted", last=None).column("key").to_pylist()
    assert answered

    # A forget in the maintenance reaches them in the same run.
    (tmp_path / "keys.txt").write_text(f"{answered[0]}\n", encoding="utf-8")
    conf = {"operation": "forget", "keys_file": str(tmp_path / "keys.txt"), "dry_run": False}
    run_id = page.trigger("tide__maintenance", conf=conf)
    assert page.ended("tide__maintenance", run_id) == "success"
    states = page.task_states("tide__maintenance", run_id)
    assert (states["forget"], states["refresh"], states["expire"]) == ("success", "success", "skipped")
    assert answered[0] not in tide.open().queries.ask("counted", last=None).column("key").to_pylist()

    # A query with faults fails the refresh alone, which says what to mend; the update is done, and others are answered.
    (queries / "bad.toml").write_text(COUNTED.replace("count(*)", "sum(nothing)"), encoding="utf-8")
    slot = slot_at(tide, now - HOUR)
    tide.write_batches([slot], edition=1)
    run_id = page.trigger("tide__backfill", conf={"start": tide.axis.name(slot), "end": tide.axis.name(slot + 1)})
    assert page.ended("tide__backfill", run_id) == "failed"
    states = page.task_states("tide__backfill", run_id)
    assert states == {"backfill": "success", "backfill_done": "success", "refresh": "failed"}
    log = " ".join(" ".join(page.log("tide__backfill", run_id, "refresh")).split())
    assert "bad.toml:4 [query] select" in log
    assert "mend the file; docs/query-file.md explains every key" in log
    assert "answers counted" in log


def _states(page: RestPage) -> dict[datetime, str]:
    return page.states("tide") if "tide" in page.dag_ids() else {}


# The schedule beside a backfill.

SLOTS = 60


@pytest.fixture
def minutes(tmp_path: Path) -> TomlArchive:
    """An archive with a slot and a run a minute, and the batches of two hours."""
    tide = TomlArchive(tmp_path, axis=TimeAxis(MINUTE_US), span=200)
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    first = slot_at(tide, now - 70 * MINUTE)
    tide.write_batches(range(first, first + 150))
    tide.write_file(f'start = {now - MINUTE:%Y-%m-%dT%H:%M:%SZ}\npool = "minutes"', cron="* * * * *")
    text = (
        tide.path.read_text(encoding="utf-8")
        .replace('"20m"', '"1m"')
        .replace('vacuum_period = "1h"', 'vacuum_period = "5m"')
    )
    tide.path.write_text(text, encoding="utf-8")
    return tide


@pytest.mark.parametrize("way", ["backfill", "range"])
def test_a_backfill_leaves_the_schedule_its_place(airflow: EmbeddedAirflow, minutes: TomlArchive, way: str) -> None:
    page = RestPage(airflow)
    wait(airflow, "the first scheduled run", lambda: "success" in _states(page).values())
    begin = min(_states(page)) - SLOTS * MINUTE
    if way == "backfill":
        content = {
            "dag_id": "tide",
            "from_date": begin.isoformat(),
            "to_date": (begin + (SLOTS - 1) * MINUTE).isoformat(),
        }
        page.call("/api/v2/backfills", {**content, "max_active_runs": 10, "reprocess_behavior": "none"})
    else:
        conf = {"start": f"{begin:%Y-%m-%dT%H:%M:%SZ}", "end": f"{begin + SLOTS * MINUTE:%Y-%m-%dT%H:%M:%SZ}"}
        page.trigger("tide__backfill", conf={**conf, "slots_per_commit": 3})
    lags = []

    def done() -> bool:
        brought = [at for at, state in page.states("tide").items() if state == "success"]
        lags.append((datetime.now(UTC) - max(brought) - MINUTE) / MINUTE)
        first = slot_at(minutes, begin)
        return len(set(minutes.applied()) & set(range(first, first + SLOTS))) == SLOTS

    wait(airflow, "the backfill", done)
    print(f"{way}: {SLOTS} slots while the schedule lagged {max(lags):.2f} intervals at most, over {len(lags)} looks")
    assert max(lags) <= 2
    # Expiry moved the watermark every few minutes, and nobody cried wolf.
    maintained = [run["state"] for run in page.runs("tide__maintenance")]
    assert maintained
    assert "failed" not in maintained
