"""The page, `status`, the task `watch` and the metrics say the same of archives in twelve situations.

Each face is asked as people ask it, on archives in files and Airflow's tables in SQLite; nothing starts Spark.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import tidewheel
from tests.dags.test_operator_page import empty_airflow, known_to_airflow, overview_of
from tests.support.situations import HOUR_US, SITUATIONS, Situations
from tidewheel.cli import main
from tidewheel.commits.clock import now_us
from tidewheel.indexing.errors import TidewheelError

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
# A port that nobody listens at, so that the store is away at once.
STORE = {
    "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
    "AWS_ACCESS_KEY_ID": "nobody",
    "AWS_SECRET_ACCESS_KEY": "nothing",
    "AWS_REGION": "us-east-1",
}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Situations:
    at_us = now_us()
    situations = Situations(tmp_path_factory.mktemp("played"), at_us - at_us % HOUR_US)
    for name, (make, _, _) in SITUATIONS.items():
        make(situations, name)
    return situations


@pytest.fixture(scope="module")
def in_airflow(played: Situations) -> None:
    """Airflow knows the archives, and one is paused."""
    from airflow.models.dag import DagModel
    from airflow.utils.session import create_session
    from sqlalchemy import update

    empty_airflow()
    known = played.folder / "known"
    known.mkdir()
    for name in ("late", "paused", "gap"):
        shutil.copy(played.path(name), known)
    known_to_airflow(known)
    with create_session(scoped=False) as session:
        session.execute(update(DagModel).where(DagModel.dag_id == "paused").values(is_paused=True))


@pytest.fixture(autouse=True)
def store_away(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in STORE.items():
        monkeypatch.setenv(name, value)


def status_says(path: Path) -> dict[str, Any] | None:
    """What the command tells; None if it fails."""
    done = CliRunner().invoke(main, ["status", str(path), "--json"])
    if done.exit_code:
        assert done.exit_code != 70, done.output
        return None
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def metrics_say(path: Path) -> dict[str, float] | None:
    """By name, without the archive's own label; None if the command fails."""
    done = CliRunner().invoke(main, ["metrics", str(path)])
    if done.exit_code:
        return None
    text = done.stdout.replace(f'{{archive="{path.stem}",', "{").replace(f'{{archive="{path.stem}"', "{")
    samples = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {sample: float(value) for sample, _, value in samples}


def timeless(text: str) -> str:
    """Without how long ago something was: the faces are asked one after the other."""
    return re.sub(r"\w+ ago", "ago", text)


def watch_fails(path: Path) -> str:
    """With what the task ends that watches an archive."""
    from tidewheel.dags.maintenance import Watch

    try:
        Watch(task_id="watch", archive_file=str(path)).care(tidewheel.open(path))
    except TidewheelError as error:
        return str(error)
    return ""


@pytest.mark.usefixtures("in_airflow")
@pytest.mark.parametrize(
    "name",
    # Each face waits for some seconds for a store that does not answer.
    [pytest.param(one, marks=pytest.mark.nightly if one == "unreachable_store" else ()) for one in SITUATIONS],
)
def test_all_faces_say_the_same(played: Situations, name: str) -> None:
    path, (_, word, is_red) = played.path(name), SITUATIONS[name]
    overview, told, samples, failure = overview_of(path), status_says(path), metrics_say(path), watch_fails(path)
    assert overview.health.word == word, overview.health
    assert bool(failure) == is_red, failure
    if word == "unreadable":
        assert (told, samples) == (None, None)
        return
    assert told is not None
    assert samples is not None
    assert told["health"]["word"] == word
    assert [one for one, value in samples.items() if one.startswith("tidewheel_health") and value] == [
        f'tidewheel_health{{word="{word}"}}'
    ]
    assert overview.status is not None
    assert told["slots_missing"] == overview.slots_missing == samples["tidewheel_missing_slots{}"]
    assert told["applied_through"] == overview.status.to_json()["applied_through"]
    for worry in told["health"]["worries"]:
        assert timeless(worry["message"]) in timeless(failure)
        assert timeless(worry["message"]) in timeless(overview.health.why)
    assert samples["tidewheel_applied_timestamp_seconds{}"] * 10**6 == overview.status.applied_through_us
    assert overview.records_quarantined == sum(
        value for one, value in samples.items() if one.startswith("tidewheel_quarantined_rows")
    )


@pytest.mark.usefixtures("in_airflow")
def test_the_page_names_the_cause_and_offers_what_can_be_done(played: Situations) -> None:
    seen = {name: overview_of(played.path(name)) for name in ("late", "paused", "dead_source", "gap", "catching_up")}
    assert "the DAG paused is paused" in seen["paused"].health.cause
    assert "is paused" not in seen["late"].health.cause
    assert "5h" in seen["late"].health.why
    assert "2h are allowed ([schedule] freshness)" in seen["late"].health.why
    assert {name: one.slots_to_bring for name, one in seen.items()} == {
        "late": 0, "paused": 0, "dead_source": 0, "gap": 1, "catching_up": 0,
    }  # fmt: skip
    assert "waits for a batch that is not there" in seen["dead_source"].health.why
    assert overview_of(played.path("quarantine")).quarantined == {"null_key": 2}
