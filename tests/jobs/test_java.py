"""Spark's Java process that does not start, is killed or runs out of heap: one clear error, and nothing is lost."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.archives.toml_archives import TomlArchive, first_slot_fed
from tests.support.services.processes import kill_one_spark
from tidewheel.jobs.process.java_start import StartingJava

ROOT = Path(__file__).parent.parent.parent
WAIT_S = 120


@pytest.fixture
def tide(tmp_path: Path, spark: object) -> TomlArchive:
    return first_slot_fed(tmp_path)


def start(tide: TomlArchive, **environment: str) -> subprocess.Popen[str]:
    """An update with the archive's second slot, by the command line."""
    command = [sys.executable, "-m", "tidewheel.cli", "update", str(tide.path), "--slot", tide.axis.name(1)]
    return subprocess.Popen(
        command,
        cwd=tide.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def refused(tide: TomlArchive, update: subprocess.Popen[str], code: int) -> str:
    """What was said of an update that failed, in two lines; the archive is what it was."""
    said = update.communicate(timeout=WAIT_S)[1]
    assert update.returncode == code, said
    assert [line.split(": ", 1)[0].strip() for line in said.splitlines()] == ["Error", "what to do"], said
    assert tide.content() == tide.expected([0])
    return said


def finished(tide: TomlArchive) -> None:
    """The same update again."""
    tide.open().update(tide.axis.name(1))
    assert tide.content() == tide.expected([0, 1])


def test_an_update_imports_what_it_needs_and_pyspark_beside_the_start_of_java(tide: TomlArchive) -> None:
    """What it imports before is what Java waits for; pandas and DuckDB take a second, and nothing asks for them."""
    update = start(tide, PYTHONPROFILEIMPORTTIME="1")
    said = update.communicate(timeout=WAIT_S)[1]
    assert update.returncode == 0, said
    imported = [line.rpartition("|")[2].strip() for line in said.splitlines() if line.startswith("import time:")]
    # Modules are told of when they are done.
    assert imported.index("tidewheel.jobs.process.java_start") < imported.index("pyspark.util")
    assert not {"duckdb", "pandas.core", "google.protobuf"}.intersection(imported)
    assert tide.content() == tide.expected([0, 1])


@pytest.mark.parametrize(
    ("environment", "code", "said"),
    [
        ({"JAVA_HOME": "/nowhere"}, 7, "/nowhere/bin/java"),
        ({"SPARK_SUBMIT_OPTS": "-Xmx1x"}, 7, "Invalid maximum heap size: -Xmx1x"),
        ({"SPARK_DRIVER_MEMORY": "100m"}, 2, "SPARK_DRIVER_MEMORY"),
    ],
    ids=["another home", "an option", "too little memory"],
)
def test_what_keeps_spark_from_starting_is_named(
    tide: TomlArchive, environment: dict[str, str], code: int, said: str
) -> None:
    assert said in refused(tide, start(tide, **environment), code)


def test_java_killed_in_the_middle_of_an_update(tide: TomlArchive) -> None:
    before = folders(tide)
    update = start(tide)
    until = time.monotonic() + WAIT_S
    while folders(tide) == before:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert kill_one_spark(update.pid)
    said = refused(tide, update, 8)
    assert "ended by signal 9" in said
    assert "run the command again" in said
    finished(tide)


def test_java_killed_while_it_starts(tide: TomlArchive) -> None:
    """Spark's own, or the small one that puts its command line together: nothing is missing, so one tries again."""
    update = start(tide)
    until = time.monotonic() + WAIT_S
    while not kill_one_spark(update.pid, age_max_s=2):
        assert time.monotonic() < until
        time.sleep(0.005)
    said = refused(tide, update, 8)
    assert "run the command again" in said
    finished(tide)


def folders(tide: TomlArchive) -> set[Path]:
    """What attempts have written into."""
    return set(tide.folder.glob("tables/tide/run-*"))


def test_ctrl_c_while_java_starts_leaves_none_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    starting = StartingJava({}, dict(os.environ))
    monkeypatch.setattr("tidewheel.jobs.process.java_start.sleep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        starting.reached_at()
    try:
        assert starting.process.wait(timeout=20) < 0
    finally:
        starting.process.kill()
        starting.process.communicate()


@pytest.mark.nightly
def test_a_process_whose_java_died_says_so_and_starts_another(tmp_path: Path) -> None:
    """By the Python API, in a process of its own: what failed is told once, and the next call works."""
    tide = TomlArchive(tmp_path)
    tide.write_file(clock="data")
    tide.write_batches(range(4))
    program = f"""
import os, signal
import tidewheel
from tidewheel.indexing.errors import Unavailable
from pyspark import SparkContext
archive = tidewheel.open({str(tide.path)!r})
archive.create()
archive.update({tide.axis.name(0)!r})
# Between two updates.
SparkContext._gateway.proc.kill(); SparkContext._gateway.proc.wait()
archive.update({tide.axis.name(1)!r})
# In the middle of one.
def planned(state, plan):
    SparkContext._gateway.proc.kill()
try:
    archive.update({tide.axis.name(2)!r}, on_plan=planned)
except Unavailable as error:
    print("told:", error.message)
archive.update({tide.axis.name(2)!r})
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tide.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=2 * WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert tide.applied() == [0, 1, 2]
