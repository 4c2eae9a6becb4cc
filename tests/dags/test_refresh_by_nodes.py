"""Refreshes by several nodes in a live Airflow: mapped tasks, each its share of the trees, judged by the oracle."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from benchmarks.archives.described_archive import records_of
from scripts.native_services import free_port
from tests.support.archives.toml_archives import TomlArchive
from tests.support.services.airflow_page import RestPage, wait
from tidewheel.indexing.core.slots import micros
from tidewheel.local.partials.fold import aggregate_of, call_inputs
from tidewheel.playground.airflow import EmbeddedAirflow
from tidewheel.queries.standing.answer_oracle import Asked, StreamRecord, answer
from tidewheel.queries.standing.query import Call, Query

pytestmark = pytest.mark.nightly

NODES = 3
QUERY = '[query]\nof = "tide"\nselect = "{}"\ngroup_by = [{}]\nwindow = "40m"\nslide = "20m"\nrevise = "2d"\n'
QUERIES = {
    "all": ("count(*) as n, sum(body) as total", ""),
    "by_key": ("sum(body) as total, max(body) as most", "'key'"),
    "by_body": ("min(body) as least", "'body'"),
}
# No key is a number: this cannot be folded.
FAULTY = ("sum(cast(key as bigint)) as total", "'body', 'key'")
SELECT = {name: [part.split(" as ")[1] for part in select.split(", ")] for name, (select, _) in QUERIES.items()}


@pytest.fixture
def airflow(tmp_path: Path) -> Iterator[EmbeddedAirflow]:
    """An Airflow that watches an empty folder."""
    (tmp_path / "archives" / "queries").mkdir(parents=True)
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


def ask(folder: Path, queries: Mapping[str, tuple[str, str]]) -> None:
    for name, (select, groups) in queries.items():
        (folder / "archives" / "queries" / f"{name}.toml").write_text(QUERY.format(select, groups), encoding="utf-8")


def mapped(page: RestPage, dag: str, run_id: str) -> dict[int, str]:
    """The states of a run's refreshes, by node."""
    found = page.call(f"/api/v2/dags/{dag}/dagRuns/{quote(run_id)}/taskInstances?limit=100")["task_instances"]
    return {task["map_index"] + 1: task["state"] for task in found if task["task_id"] == "refresh"}


def shares(page: RestPage, dag: str, run_id: str) -> list[set[str]]:
    """Which queries each node answered, by what it left for other tasks to read; one that failed leaves nothing."""
    path = f"/api/v2/dags/{dag}/dagRuns/{quote(run_id)}/taskInstances/refresh/xcomEntries/return_value?map_index="
    done = [number for number, state in sorted(mapped(page, dag, run_id).items()) if state == "success"]
    return [set(page.call(f"{path}{number - 1}&deserialize=true")["value"]["queries"]) for number in done]


def asked(query: Query) -> Asked:
    def inputs(call: Call) -> Any:
        names = [one.strip('"') for one in next((one.arguments for one in call_inputs(call) if one.arguments), ())]
        return lambda record: tuple(record.values[name] for name in names)

    return Asked(
        query.terms,
        lambda record: True,
        lambda record: tuple(record.values.get(one.name) for one in query.groups),
        tuple((aggregate_of(call), inputs(call)) for call in query.calls),
    )


def check_with_oracle(tide: TomlArchive, editions: Mapping[int, int]) -> None:
    """All that is kept, against every record that ever came."""
    records = []
    for slot, edition in editions.items():
        for record in records_of(slot, edition, tide.span):
            row: Any = tide._row(record)
            records.append(StreamRecord(slot, micros(datetime.fromisoformat(row["at"])), record.expiration_slot, row))
    queries = tide.open().queries
    for name, outputs in SELECT.items():
        query, told = queries.query(name), queries.ask(name, last=None).to_pylist()
        whole = [row for row in told if row["complete"] == 1]
        ends = {row["window_end"] for row in whole}
        # What was not stored of the first slot, nobody kept: no query was answered yet.
        assert len(ends) >= len(editions) - 2, "windows of two slots"
        for end in ends:
            truth = answer(asked(query), records, tide.axis, micros(end))
            found = {
                tuple(row[one.name] for one in query.groups): tuple(row[output] for output in outputs)
                for row in whole
                if row["window_end"] == end
            }
            assert found == truth, (name, end)


def test_mapped_tasks_refresh_each_their_share(airflow: EmbeddedAirflow, tmp_path: Path) -> None:
    page, now = RestPage(airflow), datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    tide = TomlArchive(tmp_path, span=30)
    slots = [tide.axis.slot_of(int((now - timedelta(hours=3)).timestamp()) * 1_000_000) + at for at in range(6)]
    tide.write_batches(slots)
    ask(tmp_path, QUERIES)
    # Nothing is scheduled while this runs.
    tide.write_file(f"start = {now + timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}")
    tide.path.write_text(f'{tide.path.read_text()}\n[queries]\nnodes = {NODES}\nplanner = "By Group"\n')
    created = subprocess.run(
        [airflow.commands / "tidewheel", "init", str(tide.path)], capture_output=True, text=True, check=False
    )
    assert created.returncode == 0, created.stderr
    wait(airflow, "the archive's DAGs", lambda: "tide__backfill" in page.dag_ids())

    def run(first: int, last: int) -> tuple[str, str]:
        conf = {"start": tide.axis.name(first), "end": tide.axis.name(last + 1)}
        run_id = page.trigger("tide__backfill", conf=conf)
        return page.ended("tide__backfill", run_id), run_id

    for first, last in ((slots[0], slots[0]), (slots[1], slots[-1])):
        state, run_id = run(first, last)
        assert state == "success", mapped(page, "tide__backfill", run_id)
    assert mapped(page, "tide__backfill", run_id).keys() == {1, 2, 3}
    found = shares(page, "tide__backfill", run_id)
    print(f"shares of the nodes: {found}")
    assert sorted(map(len, found)) == [1, 1, 1]
    assert set().union(*found) == QUERIES.keys()
    check_with_oracle(tide, dict.fromkeys(slots, 0))

    # One node's query cannot be folded: its task fails and says which, the others correct what a replay touches.
    ask(tmp_path, {"faulty": FAULTY})
    tide.write_batches([slots[3]], edition=1)
    state, run_id = run(slots[3], slots[3])
    states = mapped(page, "tide__backfill", run_id)
    assert (state, sorted(states.values()).count("failed")) == ("failed", 1), states
    assert set(states.values()) <= {"failed", "success", "skipped"}
    failed = next(number for number, one in states.items() if one == "failed")
    log = page.log("tide__backfill", run_id, "refresh", map_index=failed - 1)
    assert "faulty" in " ".join(log)
    check_with_oracle(tide, {**dict.fromkeys(slots, 0), slots[3]: 1})

    # Mended: its own node brings it, in the next run.
    ask(tmp_path, {"faulty": ("max(key) as greatest", "'body', 'key'")})
    state, run_id = run(slots[3], slots[3])
    assert state == "success", mapped(page, "tide__backfill", run_id)
    assert any("faulty" in share for share in shares(page, "tide__backfill", run_id))
    check_with_oracle(tide, {**dict.fromkeys(slots, 0), slots[3]: 1})
