"""Runs by their dates and their configuration: which are made, which go first, which are refused and in what words."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.archives.toml_archives import TomlArchive
from tests.support.services.dag_runs import K, context_of, dags_of, pytestmark, tide, work
from tidewheel.indexing.core.slots import iso, moment
from tidewheel.indexing.errors import Damaged, Refused

__all__ = ["pytestmark", "tide"]


def scheduled_from(tide: TomlArchive, slot: int) -> Any:
    """The timetable of the archive as Airflow's scheduler has it, from the database and back."""
    from airflow.serialization.serialized_objects import DagSerialization

    tide.write_file(f"start = {iso(tide.axis.start_us(slot))}")
    return DagSerialization.from_dict(DagSerialization.to_dict(dags_of(tide)["tide"]))


def starts(infos: Any, count: int) -> list[int]:
    return [int(info.data_interval.start.timestamp()) for _, info in zip(range(count), infos, strict=False)]


def test_runs_begin_with_the_start_and_backfills_before_it(tide: TomlArchive) -> None:
    from airflow.sdk.timezone import coerce_datetime

    dag = scheduled_from(tide, K)
    first = tide.axis.start_us(K) // 1_000_000
    info = dag.next_dagrun_info(last_automated_run_info=None)
    assert int(info.data_interval.start.timestamp()) == first
    assert int(dag.next_dagrun_info(last_automated_run_info=info).data_interval.start.timestamp()) == first + 3600
    earlier = coerce_datetime(moment(tide.axis.start_us(K - 6)))
    infos = dag.iter_dagrun_infos_between(earlier, coerce_datetime(moment(tide.axis.start_us(K))))
    assert starts(infos, 9) == [first - 7200, first - 3600, first]


def test_a_date_before_the_start_is_refused_by_the_api(tide: TomlArchive) -> None:
    from airflow.sdk.timezone import coerce_datetime

    timetable = scheduled_from(tide, K).timetable
    with pytest.raises(ValueError, match=r"begins before \[schedule\] start, 2025-11-18T00:00:00Z"):
        timetable.infer_manual_data_interval(run_after=coerce_datetime(moment(tide.axis.start_us(K))))
    timetable.infer_manual_data_interval(run_after=coerce_datetime(moment(tide.axis.start_us(K + 3))))


@pytest.mark.parametrize("task", ["source", "update"])
def test_a_date_before_the_start_fails_in_the_task(tide: TomlArchive, task: str) -> None:
    """However such a run came to be: Airflow's command line and other DAGs do not ask the timetable."""
    from airflow.sdk.exceptions import AirflowFailException

    scheduled_from(tide, K)
    context = context_of(tide, K - 3, K - 1)
    with pytest.raises(AirflowFailException) as refused:
        work(tide, "tide", task, context)
    said = str(refused.value)
    assert "is for 2025-11-17T23:00:00Z, before [schedule] start, 2025-11-18T00:00:00Z." in said
    assert '\n    airflow dags trigger tide__backfill --conf \'{"start": "2025-11-17T23:00:00Z",' in said
    # With the interval of another day, but an early date.
    context = {**context_of(tide, K, K + 2)}
    context["dag_run"].logical_date = moment(tide.axis.start_us(K - 3))
    with pytest.raises(AirflowFailException, match=r"before \[schedule\] start"):
        work(tide, "tide", task, context)


def test_a_backfill_may_go_back_before_the_start(tide: TomlArchive) -> None:
    scheduled_from(tide, K)
    source = dags_of(tide)["tide"].task_dict["source"]
    context = {**context_of(tide, K - 3, K - 1), "dag": source.dag}
    context["dag_run"].run_type = "backfill"
    assert not source.poke(context)


@pytest.mark.parametrize(
    ("run_id", "tries", "weight"),
    [("scheduled__2025", 0, 10), ("scheduled__2025", 1, 1), ("backfill__2025", 0, 1), ("manual__2025", 0, 1)],
)
def test_the_schedule_goes_first(tide: TomlArchive, run_id: str, tries: int, weight: int) -> None:
    """A scheduled run that a backfill runs again keeps its name, but has been tried."""
    dag = scheduled_from(tide, K)
    for task in dag.tasks:
        assert task.weight_rule.get_weight(SimpleNamespace(run_id=run_id, try_number=tries)) == weight


def test_the_alarm_is_one_that_lets_runs_be_cleared(tide: TomlArchive) -> None:
    """As the scheduler reads it; with Airflow's own reference, clearing a run ends in an error 500."""
    from airflow.sdk.timezone import utcnow
    from airflow.serialization.decoders import decode_deadline_alert
    from airflow.serialization.encoders import encode_deadline_alert

    tide.write_file('freshness = "90m"')
    [alert] = dags_of(tide)["tide"].deadline
    read = decode_deadline_alert(encode_deadline_alert(alert))
    assert read.reference.reference_name == "RunMade"
    late = read.reference.evaluate_with(session=None, interval=read.interval, dag_id="tide", run_id="scheduled__1")
    assert timedelta(minutes=89) < late - utcnow() <= timedelta(minutes=90)


def test_the_range_takes_no_slot_of_the_pool(tide: TomlArchive) -> None:
    tide.write_file('pool = "writers"')
    dags = dags_of(tide)
    assert dags["tide__backfill"].task_dict["backfill"].pool == "default_pool"
    assert dags["tide"].task_dict["update"].pool == "writers"


@pytest.mark.parametrize(
    ("dag", "task"),
    [("tide", "source"), ("tide", "update"), ("tide__backfill", "backfill"), ("tide__maintenance", "operation")],
)
def test_a_key_that_no_form_has_is_refused(tide: TomlArchive, dag: str, task: str) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    context = context_of(tide, K, K + 2)
    context["dag_run"].conf = {"slot_per_commit": 4, "allow_shrink": True, "operation": "maintain"}
    with pytest.raises(AirflowFailException) as refused:
        work(tide, dag, task, context)
    assert "run manual__1 was given " in str(refused.value)
    assert "slot_per_commit" in str(refused.value)
    if dag == "tide__backfill":
        assert "did you mean slots_per_commit?" in str(refused.value)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"operation": "maintain", "keys_file": "keys.txt"}, "keys_file is not for operation = maintain"),
        ({"operation": "migrate", "where": "a = 1"}, "trigger it again with operation = forget, or without where"),
        ({"operation": "forget", "rebuild": True}, "rebuild is not for operation = forget"),
    ],
)
def test_fields_of_another_operation_are_refused(tide: TomlArchive, params: dict[str, Any], said: str) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    given = {"rebuild": False, "keys_file": "", "where": "", "dry_run": True, **params}
    with pytest.raises(AirflowFailException, match=said):
        work(tide, "tide__maintenance", "operation", context_of(tide, None, **given))


@pytest.mark.parametrize("task", ["expire", "vacuum", "audit", "watch"])
def test_a_run_that_was_started_for_something_else_does_not_maintain(tide: TomlArchive, task: str) -> None:
    from airflow.sdk.exceptions import AirflowSkipException

    with pytest.raises(AirflowSkipException, match="something else"):
        work(tide, "tide__maintenance", task, context_of(tide, None, operation="forget"))


# Words.

ERRORS = (
    Refused(
        "far fewer records " * 20, "check the source, or confirm: airflow backfill create --dag-id tide --from-date A"
    ),
    Damaged("the table is not what it was", "tidewheel audit tide"),
    Damaged("its log is cut short", "find all there is: tidewheel audit /srv/tables/tide"),
)


def test_messages_fit_a_page_and_commands_stay_whole(tide: TomlArchive) -> None:
    from tidewheel.dags.tasks.wording import WIDTH, lines_of

    refused = lines_of(ERRORS[0], str(tide.path))
    assert max(map(len, refused)) <= WIDTH
    assert refused[-3:] == [
        "what to do:",
        "    check the source, or confirm:",
        "    airflow backfill create --dag-id tide --from-date A",
    ]
    assert lines_of(ERRORS[1], str(tide.path))[-1] == "    tidewheel audit tide"


def test_commands_are_named_in_full_where_they_have_settings_of_their_own(
    tide: TomlArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tidewheel.dags.tasks.wording import lines_of, typed_here

    monkeypatch.setenv("TIDEWHEEL_COMMANDS", "/srv/my airflow/commands")
    said = [lines_of(error, str(tide.path))[-1].strip() for error in ERRORS]
    assert said == [
        "'/srv/my airflow/commands'/airflow backfill create --dag-id tide --from-date A",
        f"'/srv/my airflow/commands'/tidewheel audit {tide.path}",
        "'/srv/my airflow/commands'/tidewheel audit /srv/tables/tide",
    ]
    # Only what can be typed: neither paths nor sentences.
    for kept in ("see ~/.airflow/logs", "upgrade tidewheel", "tidewheel-setup s3", "Airflow runs it"):
        assert typed_here(kept, str(tide.path)) == kept


def test_programs_know_their_settings_wherever_they_are_started(tmp_path: Path) -> None:
    from tidewheel.playground.airflow_commands import write_commands

    folder = tmp_path / "my commands"
    write_commands(folder, {"AIRFLOW_HOME": "/a b/'c'"}, {"airflow": ["sh", "-c", 'echo "$AIRFLOW_HOME" "$@"', "x"]})
    done = subprocess.run(
        ["sh", "-c", f"{shlex.quote(str(folder))}/airflow dags list"],
        cwd="/", env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "/a b/'c' dags list\n"


def commands_of_the_manual() -> list[str]:
    """The commands of Airflow in the two pages about it: in blocks, whole over their lines, and in running text."""
    docs = Path(__file__).parent.parent.parent / "docs"
    text = "\n".join((docs / name).read_text(encoding="utf-8") for name in ("airflow.md", "operating-airflow.md"))
    joined = re.sub(r"\s*\\\n\s+", " ", text)
    blocks = re.findall(r"^ {4,}(?:\.airflow/commands/)?(airflow .*)$", joined, re.MULTILINE)
    return [*blocks, *re.findall(r"`(airflow [^`]*)`", joined)]


def test_the_commands_of_the_manual_are_airflows(tide: TomlArchive) -> None:
    """Its parser takes them, and the form of the DAG knows every key that they pass."""
    from airflow.cli.cli_parser import get_parser

    commands = commands_of_the_manual()
    assert len(commands) >= 8
    dags = dags_of(tide)
    for command in commands:
        given = get_parser().parse_args(shlex.split(command)[1:])
        conf = getattr(given, "conf", None) or getattr(given, "dag_run_conf", None)
        if conf:
            assert json.loads(conf).keys() <= dags[given.dag_id.replace("sessions", "tide")].params.keys(), command
