"""The page, `status`, the task `watch` and the metrics say the same of archives in twelve situations.

Each face is asked as people ask it, on archives in files and Airflow's tables in SQLite; nothing starts Spark.
"""

from __future__ import annotations

import re
import shutil

import pytest

from tests.dags.test_operator_page import empty_airflow, known_to_airflow, overview_of
from tests.support.archives.health_faces import assert_agreed
from tests.support.archives.situations import SITUATIONS, Situations

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
    situations = Situations.in_folder(tmp_path_factory.mktemp("played"))
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


@pytest.mark.usefixtures("in_airflow")
@pytest.mark.parametrize(
    "name",
    # Each face waits for some seconds for a store that does not answer.
    [pytest.param(one, marks=pytest.mark.nightly if one == "unreachable_store" else ()) for one in SITUATIONS],
)
def test_all_faces_say_the_same(played: Situations, name: str) -> None:
    _, word, is_red = SITUATIONS[name]
    path = played.path(name)
    assert_agreed(path, word, overview_of(path).to_json(), is_red=is_red)


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


@pytest.mark.usefixtures("in_airflow")
def test_an_archive_that_nothing_was_brought_to_waits(played: Situations) -> None:
    """Also one without a schedule, of which Airflow has no DAG of that name."""
    for name in ("never_begun", "by_hand"):
        path = played.write(name)
        if name == "by_hand":
            path.write_text(re.sub("cron = .*", 'cron = "@never"', path.read_text()))
        (played.folder / "new").mkdir(exist_ok=True)
        shutil.copy(path, played.folder / "new")
    known_to_airflow(played.folder / "new")
    begun, by_hand = (overview_of(played.path(name)).health for name in ("never_begun", "by_hand"))
    assert begun.word == by_hand.word == "waiting"
    assert "no run of it was a success yet" in begun.why
    assert "it has no schedule" in by_hand.why
