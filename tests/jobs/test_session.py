"""The settings of Spark's Java: our collector unless the user chose one, for Java refuses to start with two; who may
connect to it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.services.broker import wait_until
from tests.support.services.processes import processes_below
from tests.support.services.sockets import is_outer, listening
from tidewheel.jobs.process.session import session_conf
from tidewheel.jobs.process.settings import cluster_secret

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


def test_a_local_spark_listens_on_the_loopback_only(spark: SparkSession) -> None:
    [java] = [process for process, command in processes_below(os.getpid()).items() if "SparkSubmit" in command]
    found = listening([os.getpid(), java])
    assert len(found) >= 2, "Spark's own and the driver's for blocks"
    assert [at for at in found if is_outer(at[0])] == []


def test_what_spark_remembers_of_its_jobs_is_bounded(spark: SparkSession) -> None:
    context = spark.sparkContext._jsc.sc()
    for _ in range(60):
        spark.range(1).write.format("noop").mode("append").save()
    context.listenerBus().waitUntilEmpty()
    queries = spark._jsparkSession.sharedState().statusStore()
    wait_until(lambda: context.statusStore().jobsList(None).size() <= 50, 30, "old jobs forgotten")
    wait_until(lambda: queries.executionsCount() <= 50, 30, "old queries forgotten")


def test_a_cluster_is_told_the_secret_after_its_java_has_started(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = {"TIDEWHEEL_SPARK_MASTER": "spark://one:7077", "_SPARK_AUTH_SECRET": "abc"}
    for name, value in cluster.items():
        monkeypatch.setenv(name, value)
    assert "abc" not in dict(session_conf("tests").getAll()).values()
    assert cluster_secret(cluster) == {"spark.authenticate": "true", "spark.authenticate.secret": "abc"}
    assert cluster_secret({**cluster, "TIDEWHEEL_SPARK_MASTER": "local[2]"}) == {}
