"""Where data comes from and goes to, as Airflow draws it and as OpenLineage is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.dags.test_dags_refresh import ask
from tests.support.archives.toml_archives import TomlArchive
from tests.support.services.dag_runs import K, context_of, dags_of, pytestmark, tide
from tidewheel.indexing.core.definition import Source, SourceKind

__all__ = ["pytestmark", "tide"]

PLACES = [
    (Source(SourceKind.FILES, "json", "/srv/in/{start:%Y}/{slot}.json"), "file:///srv/in", ("file", "/srv/in")),
    (Source(SourceKind.FILES, "json", "s3a://lake/in/{slot}.json"), "s3://lake/in", ("s3://lake", "in")),
    (Source(SourceKind.PYTHON, callable="shop.feed:read"), "python://shop.feed/read", ("python://shop.feed", "read")),
    (
        Source(SourceKind.READER, "delta", options={"path": "/srv/tables/flows"}),
        "file:///srv/tables/flows",
        ("file", "/srv/tables/flows"),
    ),
    (
        Source(
            SourceKind.READER,
            "jdbc",
            options={"url": "jdbc:postgresql://db:5432/shop?ssl=true", "dbtable": "public.orders", "user": "reader"},
        ),
        "postgresql://db:5432/shop/public.orders",
        ("postgres://db:5432", "shop.public.orders"),
    ),
    (
        Source(SourceKind.TOPIC, "kafka", topic="flows", options={"bootstrap.servers": "a:9092,b:9092"}),
        "kafka://a:9092,b:9092/flows",
        ("kafka://a:9092,b:9092", "flows"),
    ),
]


@pytest.mark.parametrize(("source", "place", "dataset"), PLACES, ids=[place for _, place, _ in PLACES])
def test_sources_have_the_names_that_others_give_them(
    tide: TomlArchive, source: Source, place: str, dataset: tuple[str, str]
) -> None:
    from dataclasses import replace

    from tidewheel.dags.tasks.assets import source_asset
    from tidewheel.dags.tasks.moved_data import dataset_name
    from tidewheel.resolve import read_archive_file

    asset = source_asset(replace(read_archive_file(tide.path), source=source))
    assert asset.uri == f"{place}?as=batches"
    assert dataset_name(asset) == dataset


def test_no_two_assets_share_a_name_or_an_address(tide: TomlArchive) -> None:
    """Airflow stops the tasks of those that do; two archives that are fed from one place share its asset."""
    ask(tide)
    text = tide.path.read_text(encoding="utf-8")
    other = tide.path.with_name("other.toml")
    other.write_text(text.replace('"tide"', '"other"').replace("tables/tide", "tables/other"), encoding="utf-8")
    from tidewheel.dags.build.factory import archive_dags

    dags = {**archive_dags(tide.path), **archive_dags(other)}
    tasks = [task for dag in dags.values() for task in dag.tasks]
    assets = {(asset.name, asset.uri) for task in tasks for asset in (*task.inlets, *task.outlets)}
    assert len({name for name, _ in assets}) == len({uri for _, uri in assets}) == len(assets) == 6


def test_what_is_read_and_written_is_drawn(tide: TomlArchive) -> None:
    ask(tide)
    drawn = {
        task.task_id: ([one.name for one in task.inlets], [one.name for one in task.outlets])
        for dag in dags_of(tide).values()
        for task in dag.tasks
        if task.inlets or task.outlets
    }
    batches = f"batches: file://{tide.folder}/batches"
    brings = ([batches], ["tide", "tide.slots"])
    assert drawn == {"update": brings, "backfill": brings, "refresh": (["tide"], ["tide.answers"])}


def test_slots_too_many_are_not_announced_one_by_one(tide: TomlArchive) -> None:
    from airflow.sdk.execution_time.context import OutletEventAccessors

    from tidewheel.dags.tasks.assets import SLOTS_ANNOUNCED_MAX, announce, slots_asset
    from tidewheel.resolve import read_archive_file

    file = read_archive_file(tide.path)
    document = {"version": 1, "committed": "2026-01-01T00:00:00Z"}
    for slots in (SLOTS_ANNOUNCED_MAX, SLOTS_ANNOUNCED_MAX + 1):
        events = OutletEventAccessors()
        announce(file, range(slots), document, events)
        assert len(events[slots_asset(file)].partition_keys) == (slots if slots <= SLOTS_ANNOUNCED_MAX else 0)


@pytest.mark.usefixtures("spark")
def test_openlineage_is_told_rows_and_bytes(tide: TomlArchive) -> None:
    """By the very objects that Airflow's provider asks for."""
    tide.write_batches(range(K, K + 3))
    operator = dags_of(tide)["tide"].task_dict["update"]
    before = operator.get_openlineage_facets_on_start()
    context = context_of(tide, K, K + 2)
    context["dag"] = operator.dag
    receipt = operator.execute(context)
    told = operator.get_openlineage_facets_on_complete(None)
    assert [(one.namespace, one.name) for one in (*before.inputs, *before.outputs)] == [
        ("file", f"{tide.folder}/batches"),
        ("file", f"{tide.folder}/tables/tide"),
    ]
    ([read], [wrote]) = told.inputs, told.outputs
    assert read.inputFacets["inputStatistics"].rowCount == receipt["rows_in"] == 120
    statistics = wrote.outputFacets["outputStatistics"]
    assert (statistics.rowCount, statistics.size) == (receipt["stored"], receipt["bytes_added"])
    assert wrote.facets["version"].datasetVersion == "1"


@pytest.mark.nightly
def test_events_of_a_real_run_hold_rows_and_bytes(tide: TomlArchive, tmp_path: Path) -> None:
    """`airflow dags test` with OpenLineage's own file transport."""
    from scripts.native_services import free_port
    from tidewheel.playground.airflow import EmbeddedAirflow

    ask(tide)
    tide.write_file(f"start = {tide.axis.name(K)}", clock="data")
    tide.write_batches(range(K, K + 6))
    events = tmp_path / "events.jsonl"
    settings = {
        "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps({"type": "file", "log_file_path": str(events), "append": True}),
        "AIRFLOW__OPENLINEAGE__NAMESPACE": "here",
        "TIDEWHEEL_SPARK_MASTER": "local[1]",
    }
    stack = EmbeddedAirflow(tmp_path / "airflow", [tide.path.parent], free_port(), settings)
    stack.prepare()
    # By the end of its interval.
    stack.airflow("dags", "test", "tide", tide.axis.name(K + 3))
    receipt = next(one for _, one in tide.open().history(5) if one.slots)
    done = completed(events)
    update, refresh = done["tide.update"], done["tide.refresh"]
    [read], [wrote] = update["inputs"], update["outputs"]
    assert (read["namespace"], read["name"]) == ("file", f"{tide.folder}/batches")
    assert read["inputFacets"]["inputStatistics"]["rowCount"] == 120
    assert (wrote["namespace"], wrote["name"]) == ("file", f"{tide.folder}/tables/tide")
    statistics = wrote["outputFacets"]["outputStatistics"]
    assert statistics["rowCount"] == sum(one.stored for one in receipt.slots)
    assert (statistics["size"], statistics["fileCount"]) == (receipt.bytes_added, receipt.files_added)
    # The table that one task writes is what the next one reads.
    assert [(one["namespace"], one["name"]) for one in refresh["inputs"]] == [(wrote["namespace"], wrote["name"])]
    [answers] = refresh["outputs"]
    assert answers["name"] == f"{tide.folder}/tables/tide.answers"
    assert answers["outputFacets"]["outputStatistics"]["size"] > 0


def completed(events: Path) -> dict[str, Any]:
    """The events of tasks that are done, by job."""
    told = [json.loads(line) for line in events.read_text(encoding="utf-8").splitlines()]
    return {one["job"]["name"]: one for one in told if one["eventType"] == "COMPLETE"}
