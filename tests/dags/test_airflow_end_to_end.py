"""A real Airflow (api-server, scheduler, dag-processor on SQLite) keeps a real archive through all that happens.

    a file           is dropped into the folder while all of it runs, and its pool is there
    the schedule     catches up three hourly runs, three slots each
    a backfill       goes a run further back, newest first, and over one that the schedule has done already and
                     whose data has been corrected meanwhile, while the schedule still runs
    a SIGKILL        ends the Spark of one running update

At the end every cell equals the oracle and the audit is clean.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from scripts.native_services import free_port
from tests.support.archives.toml_archives import TomlArchive
from tests.support.services.airflow_page import RestPage, moment, wait
from tests.support.services.processes import kill_one_spark
from tidewheel.dags.tasks.assets import asset_of
from tidewheel.playground.airflow import EmbeddedAirflow
from tidewheel.resolve import read_archive_file

HOUR = timedelta(hours=1)
SLOTS_PER_RUN = 3
ROOT = Path(__file__).parent.parent.parent
BUNDLES = "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST"


@pytest.fixture
def now() -> datetime:
    return datetime.now(UTC).replace(minute=0, second=0, microsecond=0)


@pytest.fixture
def scheduled_hours() -> int:
    """How far back the schedule starts; batches reach twice as far, and into the next hours."""
    return 3


@pytest.fixture
def pool() -> str:
    """One writer at a time."""
    return 'pool = "writers of tide"'


@pytest.fixture
def tide(tmp_path: Path, now: datetime, scheduled_hours: int, pool: str) -> TomlArchive:
    # Records that live as long as the story is: what is lost or doubled at its beginning shows at its end.
    archive = TomlArchive(tmp_path, span=(2 * scheduled_hours + 4) * SLOTS_PER_RUN)
    archive.write_file(f"start = {now - scheduled_hours * HOUR:%Y-%m-%dT%H:%M:%SZ}\n{pool}")
    first = slot_at(archive, now - (2 * scheduled_hours + 1) * HOUR)
    archive.write_batches(range(first, first + (2 * scheduled_hours + 4) * SLOTS_PER_RUN))
    return archive


@pytest.fixture
def airflow(tide: TomlArchive, tmp_path: Path) -> Iterator[EmbeddedAirflow]:
    settings = {
        "AIRFLOW__CORE__DEFAULT_TASK_RETRY_DELAY": "1",
        # Two cores for two updates, each with a small Spark.
        "TIDEWHEEL_SPARK_MASTER": "local[1]",
        "SPARK_DRIVER_MEMORY": "700m",
    }
    stack = EmbeddedAirflow(tmp_path / "airflow", [tide.path.parent], port=free_port(), settings=settings)
    add_downstream(stack, tide, tmp_path / "dags")
    dropped_in = tide.path.rename(tmp_path / "tide.toml")
    stack.prepare()
    try:
        stack.start()
        dropped_in.rename(tide.path)
        yield stack
    finally:
        stack.stop()


def test_the_archive_survives_all_of_it(airflow: EmbeddedAirflow, tide: TomlArchive, now: datetime) -> None:
    page = Page(airflow)
    wait(airflow, "the archive's runs", lambda: bool(page.dag_ids() >= {"tide"} and page.runs("tide")))
    assert page.call("/api/v2/pools/writers%20of%20tide")["slots"] == 1
    with pytest.raises(HTTPError, match="400"):
        page.trigger("tide", now - 4 * HOUR)
    corrected, backfill_from = now - 3 * HOUR, now - 4 * HOUR
    wait(airflow, "the first scheduled run", lambda: page.all_states().get(corrected) == "success")
    slot = slot_at(tide, corrected)
    tide.write_batches(range(slot, slot + SLOTS_PER_RUN), edition=1)
    airflow.airflow(
        "backfill", "create", "--dag-id", "tide", "--from-date", backfill_from.isoformat(),
        "--to-date", corrected.isoformat(), "--reprocess-behavior", "completed", "--run-backwards",
        "--max-active-runs", "2",
    )  # fmt: skip
    # So young that it has not committed: a run whose Spark dies after its commit needs no second try.
    wait(airflow, "a Spark to kill", lambda: kill_one_spark(airflow.pids["scheduler"], age_max_s=1.5))
    wait(airflow, "all runs", lambda: len(page.all_states()) >= 4 and set(page.all_states().values()) == {"success"})

    applied = tide.applied()
    first = slot_at(tide, backfill_from)
    assert applied[: 4 * SLOTS_PER_RUN] == list(range(first, first + 4 * SLOTS_PER_RUN))
    editions = dict.fromkeys(range(slot, slot + SLOTS_PER_RUN), 1)
    assert tide.content() == tide.expected(applied, editions)
    assert tide.open().audit().clean
    # One more for the run that came again, and one more for the Spark that was killed.
    assert sum(page.tries()) == len(page.all_states()) + 2
    receipt = next(one["extra"] for one in page.asset_events() if one["name"] == "tide")
    assert (receipt["operation"], receipt["slots"]) == ("update", SLOTS_PER_RUN)
    wait(airflow, "the downstream DAG", lambda: receipt["stored"] in page.downstream())
    days = {tide.axis.name(one)[:10] for one in applied[: 4 * SLOTS_PER_RUN]}
    wait(airflow, "the DAG of days", lambda: page.days() >= days)
    assert page.import_errors() == []


@pytest.mark.nightly
@pytest.mark.parametrize(("scheduled_hours", "pool"), [(25, "")])
def test_overlaps_lose_and_double_nothing(airflow: EmbeddedAirflow, tide: TomlArchive, now: datetime) -> None:
    """A backfill beside the schedule, two writers at nearly every commit: at least 50 pairs of updates overlap."""
    page = Page(airflow)
    wait(airflow, "the DAG", lambda: "tide" in page.dag_ids())
    wait(airflow, "the first scheduled run", lambda: "success" in page.all_states().values())
    first, last = now - 51 * HOUR, now - 26 * HOUR
    airflow.airflow(
        "backfill", "create", "--dag-id", "tide", "--from-date", first.isoformat(), "--to-date", last.isoformat(),
        "--run-backwards", "--max-active-runs", "2",
    )  # fmt: skip
    wait(airflow, "all runs", lambda: len(page.all_states()) >= 51 and set(page.all_states().values()) == {"success"})

    applied = tide.applied()
    assert applied[: 51 * SLOTS_PER_RUN] == list(range(slot_at(tide, first), slot_at(tide, now)))
    assert tide.content() == tide.expected(applied)
    assert tide.open().audit().clean
    assert page.overlaps() >= 50


def add_downstream(airflow: EmbeddedAirflow, tide: TomlArchive, folder: Path) -> None:
    """The examples of the manual, in a folder of other people's DAGs, beside the archives' bundle."""
    manual = (ROOT / "docs" / "airflow.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", manual, re.DOTALL)
    assert len(examples) == 2
    folder.mkdir()
    uri = asset_of(read_archive_file(tide.path)).uri
    for number, example in enumerate(examples):
        text = example.replace("file:///srv/tables/sessions", uri).replace("sessions", "tide")
        (folder / f"example{number}.py").write_text(text, encoding="utf-8")
    bundles = json.loads(airflow.environment[BUNDLES])
    local = {"classpath": "airflow.dag_processing.bundles.local.LocalDagBundle", "kwargs": {"path": str(folder)}}
    airflow.settings = {**airflow.settings, BUNDLES: json.dumps([*bundles, {"name": "others", **local}])}


class Page(RestPage):
    """What Airflow knows: by its API, and what the API does not tell from its database."""

    def all_states(self) -> dict[datetime, str]:
        """The states of the archive's runs of every type, by the start of their interval."""
        return {moment(run["data_interval_start"]): run["state"] for run in self.runs("tide")}

    def tries(self) -> list[int]:
        query = "select try_number from task_instance where dag_id = 'tide' and task_id = 'update'"
        return [row[0] for row in self._rows(query)]

    def downstream(self) -> list[int]:
        """What the DAG that the archive triggers was told."""
        rows = self._rows("select value from xcom where dag_id = 'report' and key = 'return_value'")
        return [stored for (value,) in rows for stored in json.loads(value)]

    def days(self) -> set[str]:
        """The days that the DAG was run for that is scheduled by slots."""
        query = "select value from xcom where dag_id = 'by_day' and key = 'return_value'"
        return {json.loads(value) for (value,) in self._rows(query)}

    def overlaps(self) -> int:
        """Pairs of updates, one scheduled and one of a backfill, that ran at the same time."""
        updates = "from task_instance where dag_id = 'tide' and task_id = 'update' and run_id like"
        [(pairs,)] = self._rows(
            f"select count(*) from (select * {updates} 'scheduled%') s join (select * {updates} 'backfill%') b "
            "on s.start_date < b.end_date and b.start_date < s.end_date"
        )
        return int(pairs)

    def asset_events(self) -> list[dict[str, Any]]:
        return list(self.call("/api/v2/assets/events")["asset_events"])

    def import_errors(self) -> list[dict[str, Any]]:
        return list(self.call("/api/v2/importErrors")["import_errors"])

    def _rows(self, query: str) -> list[Any]:
        connection = sqlite3.connect(f"file:{self.airflow.database}?mode=ro", uri=True, timeout=30)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()


def slot_at(archive: TomlArchive, at: datetime) -> int:
    return archive.axis.slot_of(int(at.timestamp()) * 1_000_000)
