"""The operator page in a real Chromium, behind a whole Airflow: among Airflow's own pages, and its button at work."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.native_services import free_port
from tests.support.archives.operated_archives import HOUR_US, OperatedArchives
from tests.support.services.airflow_page import RestPage, wait
from tests.support.services.browser import Browser, chromium, pictures_folder
from tidewheel.playground.airflow import EmbeddedAirflow

pytestmark = pytest.mark.nightly
LATE = "/tidewheel/archives/readings"
MISSING = [-33, -32, *range(-7, 0)]


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> OperatedArchives:
    made = OperatedArchives(tmp_path_factory.mktemp("operated"), time.time_ns() // 1000 // HOUR_US * HOUR_US)
    made.make()
    return made


@pytest.fixture(scope="module")
def airflow(archives: OperatedArchives) -> Iterator[EmbeddedAirflow]:
    """One in which only the archive that is late runs."""
    settings = {
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "True",
        "TIDEWHEEL_COMMANDS": "",
        "TIDEWHEEL_SPARK_MASTER": "local[1]",
        "SPARK_DRIVER_MEMORY": "700m",
    }
    stack = EmbeddedAirflow(archives.folder / "airflow", [archives.archives], free_port(), settings)
    stack.prepare()
    try:
        stack.start()
        page = RestPage(stack)
        wait(stack, "the DAGs", lambda: page.dag_ids() >= {"readings", "readings__backfill"})
        for dag in ("readings", "readings__backfill"):
            stack.airflow("dags", "unpause", "--yes", dag)
        wait(stack, "a run that waits", lambda: _waits(page))
        yield stack
    finally:
        stack.stop()


@pytest.fixture(scope="module")
def browser(airflow: EmbeddedAirflow, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as started:
        started.log_in(airflow.url + "/api/v2/version", RestPage(airflow).token)
        yield started


def test_airflow_shows_the_page_among_its_own(browser: Browser, airflow: EmbeddedAirflow, tmp_path: Path) -> None:
    browser.prefer(False)
    browser.open(airflow.url + "/plugin/tidewheel_archives")
    wait(airflow, "the frame", lambda: bool(browser.driver.find_elements("css selector", "iframe")))
    browser.driver.switch_to.frame(browser.driver.find_element("css selector", "iframe"))
    wait(airflow, "the page in it", lambda: "readings" in browser.text)
    browser.driver.switch_to.default_content()
    browser.picture(pictures_folder(tmp_path) / "operator-in-airflow.png", whole=False)
    assert not [one for one in browser.complaints if "sandbox" not in one]  # Airflow's own frame


def test_the_button_brings_what_is_missing(
    browser: Browser, airflow: EmbeddedAirflow, archives: OperatedArchives
) -> None:
    archives.land("readings", MISSING)
    page = RestPage(airflow)
    browser.open(airflow.url + LATE)
    browser.press("form button")
    assert browser.driver.current_url.endswith(LATE)
    assert "of readings__backfill" in browser.text
    assert not browser.driver.find_elements("css selector", "form button")
    [run] = page.runs("readings__backfill")
    assert run["triggering_user_name"] == "admin"
    assert page.ended("readings__backfill", run["dag_run_id"]) == "success"
    browser.open(airflow.url + LATE)
    assert "Missing slots" not in browser.text
    assert browser.complaints == []


def _waits(page: RestPage) -> bool:
    return any(
        "up_for_reschedule" in page.task_states("readings", run["dag_run_id"]).values() for run in page.runs("readings")
    )
