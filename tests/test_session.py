"""The collector of Spark's Java: ours, unless the user chose one. Java refuses to start with two."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidewheel.jobs.session import session_conf

OURS = "-XX:+UseParallelGC"
PLACES = ("SPARK_SUBMIT_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_CONF_DIR")


def options() -> list[str]:
    return (session_conf("tests").get("spark.driver.defaultJavaOptions") or "").split()


@pytest.fixture(autouse=True)
def nothing_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in PLACES:
        monkeypatch.delenv(place, raising=False)


def test_other_options_do_not_change_the_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1")
    assert OURS in options()


@pytest.mark.parametrize("place", PLACES)
def test_a_collector_that_was_chosen_stays_alone(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.driver.extraJavaOptions  -Dx=y -XX:+UseG1GC\n")
    monkeypatch.setenv(place, str(tmp_path) if place == "SPARK_CONF_DIR" else "-Dx=y -XX:+UseZGC")
    assert OURS not in options()
