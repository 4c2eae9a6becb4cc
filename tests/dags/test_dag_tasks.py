"""What the tasks of DAGs do on a real small archive, and how they tell Airflow of errors."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.support.archives.toml_archives import TomlArchive
from tests.support.services.dag_runs import K, context_of, dags_of, pytestmark, tide, work
from tidewheel.indexing.core.slots import moment
from tidewheel.indexing.errors import Conflict, InvalidInput, Unavailable

__all__ = ["pytestmark", "tide"]


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
    with pytest.raises(AirflowFailException, match=r"runs\s+of\s+this\s+DAG\s+were\s+successful\s+before"):
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
    refused = Refused("most are set aside", "correct [source], or confirm with --allow-set-aside")
    assert str(raised_by(tide, refused, context_of(tide, K))).endswith("'{\"allow_set_aside\": true}'")
