"""What every test shares."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.archives.small_archive import SmallArchive
    from tests.support.services.running_cluster import Running

# Tests are many short Spark jobs: the optimising compiler and parallel collectors cost them more than they give.
# Measured here: half the processor time of a session, its first update and thirty more.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
# A machine that is busy with something else is no failure: random cases are judged by what they say, not by the clock.
settings.register_profile("tidewheel", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tidewheel")
# Airflow reads its home once, when it is first imported, whoever imports it, and keeps a database there: an empty one
# for each run, so that no test meets the DAGs and runs of an earlier one or of the machine's user.
AIRFLOW_HOME = Path(tempfile.mkdtemp(prefix="tidewheel-tests-airflow-"))
AIRFLOW_SETTINGS = f"""
[core]
load_examples = False
[api_auth]
jwt_secret = {"of tests " * 8}
[dag_processor]
dag_bundle_storage_path = {AIRFLOW_HOME}/bundles
[logging]
logging_level = WARNING
"""
SHOWN = ("pyspark", "delta-spark", "deltalake", "duckdb", "pyarrow")


def pytest_configure(config: pytest.Config) -> None:
    # Of what Airflow takes its words for cron lines from, where the machine has no language of its own (LANG=C).
    config.addinivalue_line("filterwarnings", "ignore:No system locale set:UserWarning")
    (AIRFLOW_HOME / "airflow.cfg").write_text(AIRFLOW_SETTINGS, encoding="utf-8")
    os.environ["AIRFLOW_HOME"] = str(AIRFLOW_HOME)


def pytest_unconfigure() -> None:
    shutil.rmtree(AIRFLOW_HOME, ignore_errors=True)


def pytest_report_header() -> list[str]:
    """The versions a failure report needs."""
    try:
        java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
    except FileNotFoundError:
        java = "none"
    packages = ", ".join(f"{name} {version(name)}" for name in SHOWN)
    return [f"Python {platform.python_version()}, Java: {java.partition(chr(10))[0]}", packages]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--without-engines", action="store_true", help="leave out the files that need an engine")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """None leaves it to pytest."""
    if not config.getoption("--without-engines") or collection_path.suffix != ".py":
        return None
    from tests.support.engines import needs_no_engine

    return None if needs_no_engine(collection_path) else True


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One Spark session for all tests: a cold one takes seconds."""
    from tidewheel.jobs.process.session import open_session

    session = open_session("tidewheel tests")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def five_slots_built(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SmallArchive:
    """A small archive of five slots in three commits, to be copied and not to be touched."""
    from tests.support.archives.copies import five_slots

    return five_slots(tmp_path_factory.mktemp("five_slots"))


@pytest.fixture(scope="session")
def cluster() -> Iterator[Running]:
    """The services of docker-compose.yml as processes of this machine; starting them takes most of a minute."""
    from tests.support.services.running_cluster import running_cluster

    with running_cluster() as running:
        yield running


@pytest.fixture
def in_store(cluster: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process is a client of the cluster's store."""
    variables = cluster.variables
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{variables['STORE_PORT']}")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.setenv(name, variables[name])
