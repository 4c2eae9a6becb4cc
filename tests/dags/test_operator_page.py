"""The operator page on real small archives: what it shows, of whom it asks a login, and that no text becomes markup."""

from __future__ import annotations

import asyncio
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

import tidewheel
from tests.support.archives.asked_archive import ARCHIVE_FILE, QUERIES, asked_archive
from tests.support.archives.local_archive import LocalArchive
from tidewheel.commits.clock import now_us
from tidewheel.commits.operations.forget import forget
from tidewheel.indexing.archive_file.source_paths import path_for_slot
from tidewheel.pages.detail import detail_page
from tidewheel.pages.facts import Detail, Overview
from tidewheel.pages.overview import overview_page
from tidewheel.resolve import read_archive_file

# Airflow warns of its own inner life while it is imported and used.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Using .httpx. with .starlette.testclient"),
]
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&\u202e"
LATE = '\n[schedule]\ncron = "* * * * *"\nstart = 1970-01-01T00:02:00Z\n'


@pytest.fixture
def airflow_empty() -> None:
    empty_airflow()


def empty_airflow() -> None:
    """Airflow's database of this test run, without the DAGs and runs that other tests left in it."""
    from airflow import settings
    from airflow.models import import_all_models
    from airflow.models.base import Base

    settings.configure_orm()
    import_all_models()
    Base.metadata.drop_all(settings.engine)
    Base.metadata.create_all(settings.engine)


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive whose queries are answered; its file."""
    folder = tmp_path_factory.mktemp("answered")
    asked_archive(folder)
    path = folder / "archives" / "m.toml"
    tidewheel.open(path).queries.refresh()
    return path


@pytest.fixture
def file(answered: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    shutil.copytree(answered.parent.parent, tmp_path, dirs_exist_ok=True)
    return tmp_path / "archives" / "m.toml"


def make_late(file: Path) -> None:
    """Every slot since the second was due, and no slot after the sixth came, though its batch is there."""
    file.write_text(ARCHIVE_FILE + LATE)
    read = read_archive_file(file)
    batch = Path(path_for_slot(read.source.path, read.axis.start_us(6), read.axis.end_us(6), 6))
    batch.parent.mkdir(exist_ok=True)
    batch.touch()


def detail_of(path: Path) -> Detail:
    from tidewheel.dags.page import archives_shown

    return archives_shown.detail_of(path, overview_of(path))


def overview_of(path: Path) -> Overview:
    from tidewheel.dags.page import archives_shown

    return archives_shown.overview_of(path)


class Elements(HTMLParser):
    """The names and attributes of a page's elements, and that each is closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._seen(tag, attributes)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._seen(tag, attributes)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def _seen(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attributes}


def assert_harmless(page: str) -> None:
    elements = Elements(page)
    assert not elements.names & {"script", "img", "iframe", "link", "object", "form"}
    assert not {name for name in elements.attributes if name.startswith("on")}
    assert "style" not in elements.attributes  # the policy would not apply it
    assert "src" not in elements.attributes
    assert "\u202e" not in page


def test_a_healthy_archive_is_shown_whole(answered: Path) -> None:
    detail = detail_of(answered)
    assert detail.overview.health.word == "healthy"
    page = detail_page(detail)
    status = tidewheel.open(answered).status()
    for said in (f"{status.rows_live} records", "1970-01-01T00:06Z", "e2", "nothing is in quarantine", "update of"):
        assert said in page, said
    assert page.count("<h3>") == 3
    assert page.count("<polyline") >= 4
    assert "k = a" in page
    assert_harmless(page)
    drawn = {one["query"]: one["series"] for one in detail.to_json()["answers"]}
    assert set(drawn["by_key"]["most"]) == {"k = a", "k = b"}
    assert "none noted" in page
    assert "if nothing more came, 0 records would be left at" in page
    course = detail.to_json()["course"]
    assert course["past"][-1] == course["ahead"][0]
    assert course["ahead"][0]["rows_live"] == status.rows_live
    kept = tidewheel.open(answered).queries.ask("by_key", last=None).to_pylist()
    assert sorted(drawn["by_key"]["most"]["k = a"].values()) == sorted(row["most"] for row in kept if row["k"] == "a")


def test_the_last_vacuum_and_audit_are_shown_with_what_came_of_them(file: Path) -> None:
    archive = tidewheel.open(file)
    archive.vacuum()
    assert archive.audit(deep=False).clean
    page = detail_page(detail_of(file))
    assert "deleted" in page
    assert "clean, a quick one" in page
    damaged = Path(archive.path, archive.snapshot().files[0].path)
    damaged.write_bytes(damaged.read_bytes()[:-1])
    found = len(archive.audit(deep=False).findings)
    assert f"<b>{found} findings" in detail_page(detail_of(file)) or f"<b>{found} finding:" in detail_page(
        detail_of(file)
    )
    assert detail_of(file).to_json()["status"]["audited"]["findings"] == found > 0


def test_an_erasure_that_no_refresh_carried_out_is_overdue(file: Path) -> None:
    two_hours_ago = LocalArchive(file.parent.parent, now_us=now_us() - 7200 * 10**6)
    forget(two_hours_ago.job, keys=[("b",)])
    overview = overview_of(file)
    assert overview.health.word == "overdue"
    assert "erasure is overdue" in overview.health.why
    assert overview.health.remedy.endswith("tidewheel refresh m")
    tidewheel.open(file).queries.refresh()
    assert overview_of(file).health.word == "healthy"


def test_an_archive_whose_slots_did_not_come_is_late(file: Path) -> None:
    make_late(file)
    detail = detail_of(file)
    overview, [gap] = detail.overview, detail.gaps
    assert overview.health.word == "late"
    assert "slots are missing in archive m" in overview.health.why
    assert overview.slots_missing == gap.slots > 1_000_000
    assert gap.start == "1970-01-01T00:06:00Z"
    assert "airflow dags trigger m__backfill --conf" in gap.command
    assert "<code>airflow dags trigger m__backfill" in detail_page(detail)
    assert "<code>airflow dags trigger m__backfill" in overview_page([overview])


def test_what_cannot_be_read_is_one_row(file: Path, answered: Path) -> None:
    folder = file.parent
    (folder / "gone.toml").write_text(ARCHIVE_FILE.replace("../table", "../nowhere"))
    (folder / "faulty.toml").write_text(ARCHIVE_FILE.replace('"1m"', '"1x"'))
    (folder / "odd.toml").write_bytes(b"\xff")
    log = file.parent.parent / "table" / "_delta_log"
    (log / "00000000000000000003.json").unlink()
    overviews = [overview_of(path) for path in (answered, file, *sorted(folder.glob("[fgo]*.toml")))]
    assert [one.health.word for one in overviews[:1]] == ["healthy"]
    for one in overviews[1:]:
        assert one.health.word in ("damaged", "unreadable"), one
        assert one.health.why
        assert one.health.remedy
    page = overview_page(overviews)
    assert page.index("faulty.toml") < page.index(">healthy<")  # those that need somebody come first
    assert page.count("<tr class=") == 5
    assert all(detail_page(Detail(one)) for one in overviews)


def test_texts_of_people_stay_texts(file: Path) -> None:
    (file.parent / "queries" / "m.toml").write_text(QUERIES.replace("sum(v) as total", "sum(nothing) as total"))
    file.write_text(ARCHIVE_FILE.replace('"k"', f'"k{HOSTILE[:8]}"'))
    assert_harmless(detail_page(detail_of(file)))
    hostile = file.with_name(f"{HOSTILE.replace('/', '')}.toml")
    hostile.write_text(f"[archive]\nname = '''{HOSTILE}'''\n")
    page = overview_page([overview_of(hostile)])
    assert "&lt;script&gt;" in page
    assert_harmless(page)
    assert_harmless(detail_page(detail_of(hostile)))


def test_keys_and_names_of_queries_stay_texts(answered: Path) -> None:
    from dataclasses import replace

    from tidewheel.figures.answer_plot import AnswerPlot

    detail = detail_of(answered)
    one = next(one for one in detail.answers if one.name == "by_key")
    rows = [{**row, "k": HOSTILE, HOSTILE: row["most"]} for row in one.plot.rows]
    plot = AnswerPlot(("k",), (HOSTILE,), rows)
    overview = replace(detail.overview, quarantined={HOSTILE: 3})
    page = detail_page(replace(detail, overview=overview, answers=[replace(one, name=HOSTILE, plot=plot)]))
    assert page.count("&lt;script&gt;") >= 4
    assert_harmless(page)


def answer(path: str, token: str = "", method: str = "GET", **headers: str) -> httpx.Response:
    from tidewheel.dags.page.operator_page import OperatorPage

    async def asked() -> httpx.Response:
        given = {**headers, "Authorization": f"Bearer {token}"} if token else headers
        transport = httpx.ASGITransport(app=OperatorPage())
        async with httpx.AsyncClient(transport=transport, base_url="http://airflow") as client:
            return await client.request(method, path, headers=given)

    return asyncio.run(asked())


PATHS = ("/", "/archives/m", "/api/archives", "/api/archives/m")


def test_without_a_login_nothing_is_told(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(file.parent))
    answers = [answer(path) for path in PATHS]
    # Readers are led to the login and back, programs are told.
    back = ["/tidewheel/", "/tidewheel/archives/m"]
    assert [(one.status_code, one.headers["location"]) for one in answers[:2]] == [
        (303, f"/api/v2/auth/login?next={quote(place, safe='')}") for place in back
    ]
    assert not any(one.text for one in answers[:2])
    assert [(one.status_code, one.json()) for one in answers[2:]] == [(401, {"detail": "Not authenticated"})] * 2
    # Nor does it describe itself.
    assert [answer(path).status_code for path in ("/docs", "/redoc", "/openapi.json")] == [404] * 3


def token_of(role: str | None) -> str:
    """Of a user of Airflow's own auth manager."""
    from airflow.api_fastapi.app import init_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    return str(init_auth_manager().generate_jwt(SimpleAuthManagerUser(username="somebody", role=role)))


@pytest.mark.usefixtures("airflow_empty")
def test_a_login_shows_what_its_rights_allow(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(file.parent))
    viewer, nobody = token_of("viewer"), token_of(None)
    seen = [answer(path, viewer) for path in PATHS]
    assert [one.status_code for one in seen] == [200] * 4
    assert all("default-src 'none'" in one.headers["content-security-policy"] for one in seen)
    assert ">healthy<" in seen[0].text
    assert "<polyline" in seen[1].text
    assert [one["name"] for one in seen[2].json()["archives"]] == ["m"]
    assert seen[3].json()["history"][0]["version"] == tidewheel.open(file).status().version
    hidden = [answer(path, nobody) for path in PATHS]
    assert [one.status_code for one in hidden] == [200, 404, 200, 404]
    assert hidden[2].json() == {"archives": []}
    assert "archives/m" not in hidden[0].text
    assert answer("/archives/..%2Fm", viewer).status_code == 404


BUTTON = '<form method="post" action="m/backfill">'


def late(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_late(file)
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(file.parent))


def known_to_airflow(folder: Path, faulty: int = 0) -> None:
    """The DAGs of a folder in Airflow's database, as its dag-processor leaves them there; they run."""
    from airflow import settings
    from airflow.dag_processing.dagbag import sync_bag_to_db
    from airflow.models.dag import DagModel
    from airflow.models.dagbundle import DagBundleModel
    from airflow.utils.db import synchronize_log_template
    from airflow.utils.session import create_session
    from sqlalchemy import update

    from tests.support.services.dag_runs import bag_of

    bag = bag_of(folder)
    assert len(bag.import_errors) == faulty
    assert settings.engine is not None
    synchronize_log_template()
    with create_session(scoped=False) as session:
        if not session.get(DagBundleModel, "tidewheel"):
            session.add(DagBundleModel(name="tidewheel"))
    sync_bag_to_db(bag, "tidewheel", None)
    with create_session(scoped=False) as session:
        session.execute(update(DagModel).values(is_paused=False))


@pytest.mark.usefixtures("airflow_empty")
def test_what_is_posted_must_come_from_this_site(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader's cookie goes along with what any site sends; what stands in the way otherwise is said."""
    late(file, monkeypatch)
    cookie = f"_token={token_of('admin')}"
    for origin in ({"Origin": "http://elsewhere"}, {"Origin": "null"}, {}):
        refused = answer("/archives/m/backfill", method="POST", Cookie=cookie, **origin)
        assert (refused.status_code, "Nothing was started" in refused.text) == (403, True), origin
    unknown = answer("/archives/m/backfill", method="POST", Cookie=cookie, Origin="http://airflow")
    assert unknown.status_code == 409
    assert unknown.json()["detail"] == "Airflow has no DAG m__backfill. Nothing was started"
    assert answer("/archives/m/backfill", method="POST", Origin="http://airflow").status_code == 401


def test_what_nobody_can_bring_is_waited_for(file: Path) -> None:
    """Slots whose batches are not there: a backfill of them would only fail."""
    file.write_text(ARCHIVE_FILE + LATE)
    overview = overview_of(file)
    assert overview.health.word == "waiting"
    assert "waits for a batch that is not there" in overview.health.why
    assert (overview.slots_missing > 1_000_000, overview.slots_to_bring) == (True, 0)
    assert "its batch is not there" in detail_of(file).gaps[0].run


@pytest.mark.usefixtures("airflow_empty")
def test_who_may_trigger_the_backfill_has_a_button(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    late(file, monkeypatch)
    viewer, user = token_of("viewer"), token_of("user")
    known_to_airflow(file.parent)
    assert BUTTON not in answer("/archives/m", viewer).text
    assert answer("/api/archives/m/backfill", viewer, "POST").status_code == 403
    page = answer("/archives/m", user).text
    assert page.count("<form") == page.count(BUTTON) == 1
    assert "no run was made for it" in page
    assert 'action="archives/m/backfill"' in answer("/", user).text
    pressed = answer("/archives/m/backfill", user, "POST")
    assert (pressed.status_code, pressed.headers["location"]) == (303, "../m")
    # Once is enough: while a run is in line, the page says so in the button's place.
    page = answer("/archives/m", user).text
    assert "<form" not in page
    assert "is queued, of m__backfill" in page
    assert answer("/api/archives/m/backfill", user, "POST").status_code == 409
    [run] = runs_of("m__backfill")
    gap = detail_of(file).gaps[0]
    assert (run.conf["start"], run.conf["missing_only"]) == (gap.start, True)
    assert gap.start < run.conf["end"] <= gap.end  # a slot is due every minute
    assert (run.triggering_user_name, str(run.run_type)) == ("somebody", "manual")


def runs_of(dag_id: str) -> list[Any]:
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session(scoped=False) as session:
        runs = list(session.scalars(select(DagRun).where(DagRun.dag_id == dag_id)))
        session.expunge_all()
        return runs
