"""The operator page in a real Chromium: what an operator sees at first sight, light and dark.

Airflow's own database, login and rights, without its scheduler: the one run that there is waits for its batch.
TIDEWHEEL_PICTURES=docs/images keeps the pictures where the manual shows them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from scripts.native_services import free_port
from tests.dags.test_operator_page import empty_airflow, known_to_airflow, pytestmark, token_of
from tests.support.archives.operated_archives import HOUR_US, OperatedArchives
from tests.support.services.browser import WIDTH, Browser, chromium, pictures_folder
from tidewheel.indexing.core.slots import moment

pytestmark = [*pytestmark, pytest.mark.nightly]
PAGES = {"all": "/tidewheel/", "late": "/tidewheel/archives/readings", "healthy": "/tidewheel/archives/flows"}


@pytest.fixture(scope="module")
def archives() -> Iterator[OperatedArchives]:
    # Paths are read in the pictures: short ones.
    with TemporaryDirectory(prefix="shop-") as folder, pytest.MonkeyPatch.context() as patch:
        made = OperatedArchives(Path(folder), time.time_ns() // 1000 // HOUR_US * HOUR_US)
        made.make()
        patch.setenv("TIDEWHEEL_ARCHIVES", str(made.archives))
        yield made


@pytest.fixture(scope="module")
def token(archives: OperatedArchives) -> str:
    """Of somebody who may do everything, beside a database that knows the archives' DAGs."""
    empty_airflow()
    made = token_of("admin")
    known_to_airflow(archives.archives, faulty=1)
    a_run_waits("readings", archives.now_us - 33 * HOUR_US)
    return made


@pytest.fixture(scope="module")
def url(token: str) -> Iterator[str]:
    """The page where Airflow has it."""
    import uvicorn
    from fastapi import FastAPI

    from tidewheel.dags.page.operator_page import PREFIX, OperatorPage

    site = FastAPI()
    site.get("/favicon.ico")(lambda: "")  # Airflow has one
    site.mount(PREFIX, OperatorPage())
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(site, port=port, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def browser(url: str, token: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as started:
        started.log_in(f"{url}/openapi.json", token)
        yield started


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_pages_are_drawn_without_a_complaint(browser: Browser, url: str, tmp_path: Path, name: str, dark: bool) -> None:
    browser.prefer(dark)
    browser.open(url + PAGES[name])
    paper = browser.driver.find_element("css selector", "body").value_of_css_property("background-color")
    assert (sum(map(int, paper.strip("rgba()").split(",")[:3])) < 200) == dark, paper
    assert browser.complaints == []
    browser.picture(pictures_folder(tmp_path) / f"operator-{name}-{'dark' if dark else 'light'}.png", dark=dark)


def test_at_first_sight_it_says_which_archive_is_late_and_why(browser: Browser, url: str) -> None:
    browser.open(url + PAGES["all"])
    rows = [row.text for row in browser.driver.find_elements("css selector", "table.archives tbody tr")]
    assert [row.split()[0] for row in rows] == ["consents", "tickets", "readings", "orders", "flows"]
    for said in ("late", "waits in source", "slots are missing", "missing slots"):
        assert said in rows[2]
    # Nothing of it lies outside the window.
    assert browser.driver.execute_script("return document.querySelector('.wide').scrollWidth") <= WIDTH


def a_run_waits(dag_id: str, start_us: int) -> None:
    """The first run of a schedule, as the scheduler leaves it when its batch is not there."""
    from airflow.models.dagbag import DBDagBag
    from airflow.models.taskinstance import TaskInstance
    from airflow.utils.session import create_session
    from airflow.utils.state import DagRunState
    from airflow.utils.types import DagRunTriggeredByType, DagRunType
    from sqlalchemy import update

    start, end = moment(start_us), moment(start_us + HOUR_US)
    with create_session(scoped=False) as session:
        dag = DBDagBag().get_latest_version_of_dag(dag_id, session=session)
        assert dag is not None
        dag.create_dagrun(
            run_id=f"scheduled__{start.isoformat()}",
            logical_date=start,
            data_interval=(start, end),
            run_after=end,
            run_type=DagRunType.SCHEDULED,
            triggered_by=DagRunTriggeredByType.TIMETABLE,
            state=DagRunState.RUNNING,
            session=session,
        )
        waits = update(TaskInstance).where(TaskInstance.dag_id == dag_id, TaskInstance.task_id == "source")
        session.execute(waits.values(state="up_for_reschedule"))
