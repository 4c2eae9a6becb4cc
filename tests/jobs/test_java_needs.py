"""A /tmp from which nothing may be executed, as containers have it: updates land, or the reason is named."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.archives.toml_archives import TomlArchive, first_slot_fed
from tests.support.services.mounts import folder_outside_tmp, with_tmp_noexec
from tidewheel.jobs.process.java_needs import library_folder, library_options, may_execute

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def tide(spark: object) -> Iterator[TomlArchive]:
    with folder_outside_tmp() as folder:
        yield first_slot_fed(folder)


def updated(tide: TomlArchive, **environment: str) -> subprocess.CompletedProcess[str]:
    """The second slot's update where nothing in /tmp may be executed."""
    command = [sys.executable, "-m", "tidewheel.cli", "update", str(tide.path), "--slot", tide.axis.name(1)]
    surroundings = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    surroundings.pop("TMPDIR", None)
    return subprocess.run(
        with_tmp_noexec(*command), env=surroundings, cwd=tide.folder, capture_output=True, text=True, check=False
    )


def test_an_update_lands_where_tmp_may_not_execute(tide: TomlArchive) -> None:
    done = updated(tide)
    assert done.returncode == 0, done.stderr
    assert tide.content() == tide.expected([0, 1])


def test_without_any_folder_to_execute_from_nothing_is_started(tide: TomlArchive) -> None:
    done = updated(tide, JAVA_TOOL_OPTIONS="-Djava.io.tmpdir=/tmp")
    assert done.returncode == 7, done.stderr
    assert "noexec" in done.stderr
    assert "SPARK_LOCAL_DIRS=/folder" in done.stderr
    assert tide.content() == tide.expected([0])


def test_a_library_that_cannot_be_loaded_is_named_as_not_installed(tide: TomlArchive) -> None:
    """As on a cluster, whose workers nobody has asked before."""
    done = updated(tide, SPARK_SUBMIT_OPTS="-DZstdTempFolder=/tmp")
    assert done.returncode == 7, done.stderr
    assert "a library that Java brings cannot be loaded" in done.stderr
    assert "failed to map segment" in done.stderr
    assert "source file" not in done.stderr
    assert tide.content() == tide.expected([0])


def test_what_the_user_says_wins(tmp_path: Path) -> None:
    said = {"JAVA_TOOL_OPTIONS": f'-Da=b -Djava.io.tmpdir="{tmp_path}" -Dc=d'}
    assert library_folder(said) == tmp_path
    assert library_options(said) == []


def test_a_folder_that_is_not_there_may_not_execute(tmp_path: Path) -> None:
    assert may_execute(tmp_path)
    assert not may_execute(tmp_path / "gone")
