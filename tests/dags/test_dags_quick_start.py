"""What a task sets for the Java it starts, and that nothing of it outlives the task."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.models.model_table import ModelTable, definition_of, random_generation
from tidewheel.commands import writing
from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.core.plan import plan_update
from tidewheel.jobs.process import jars, quick_start
from tidewheel.jobs.process.quick_start import LAUNCHER_VARIABLE, OPTIONS_VARIABLE, QUICK_COMPILER, VARIABLE
from tidewheel.playground import class_archive

Environment = dict[str, str]


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "classes.jsa"
    monkeypatch.setattr(quick_start, "class_archive", lambda: path)
    return path


def test_a_class_archive_is_used_when_it_is_there(archive: Path) -> None:
    environment: Environment = {OPTIONS_VARIABLE: "-Dmine=1"}
    quick_start.use_class_archive(environment)
    assert environment[OPTIONS_VARIABLE] == "-Dmine=1"
    archive.touch()
    quick_start.use_class_archive(environment)
    quick_start.use_class_archive(environment)
    assert environment[OPTIONS_VARIABLE] == (
        f"-Dmine=1 -XX:SharedArchiveFile={archive} -Xlog:cds=off -Xlog:cds+dynamic=off"
    )


@pytest.mark.parametrize(("rows", "used"), [(0, True), (1_000_000, True), (1_000_001, False)])
def test_the_quick_compiler_is_for_small_updates(rows: int, used: bool) -> None:
    environment: Environment = {}
    quick_start.use_quick_compiler(environment, rows)
    assert (environment.get(OPTIONS_VARIABLE) == QUICK_COMPILER) == used


def test_it_can_be_switched_off(archive: Path) -> None:
    archive.touch()
    environment: Environment = {VARIABLE: "off"}
    quick_start.use_class_archive(environment)
    quick_start.use_quick_compiler(environment, 0)
    assert environment == {VARIABLE: "off"}


def test_nothing_outlives_the_task(archive: Path) -> None:
    archive.touch()
    environment: Environment = {LAUNCHER_VARIABLE: "-Xmine"}
    with quick_start.kept(environment):
        quick_start.use_class_archive(environment)
        assert OPTIONS_VARIABLE in environment
    assert environment == {LAUNCHER_VARIABLE: "-Xmine"}


@pytest.mark.parametrize(("rows_in", "used"), [(1_000, True), (2_000_000, False)])
def test_a_small_update_on_the_command_line_is_compiled_quickly(
    monkeypatch: pytest.MonkeyPatch, rows_in: int, used: bool
) -> None:
    """By what its plan rewrites and by the largest batch that the ledger knows."""
    monkeypatch.delenv(OPTIONS_VARIABLE, raising=False)
    monkeypatch.delenv(VARIABLE, raising=False)
    table = ModelTable(definition_of(random_generation(random.Random(1), 0, 4), 4))
    table.update({0: [Record(0, 3, "a")]})
    record = replace(table.ledger.records[0], rows_in=rows_in)
    state = replace(table.state(), ledger=replace(table.ledger, records={0: record}))
    with quick_start.kept(os.environ):
        writing.start_quickly(state, plan_update(state, [1]))
        assert (os.environ.get(OPTIONS_VARIABLE) == QUICK_COMPILER) == used
    assert OPTIONS_VARIABLE not in os.environ


def test_without_java_there_is_no_class_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    assert quick_start.class_archive() is None


def test_set_up_says_how_spark_starts_sooner(
    archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["tidewheel-setup"])
    jars.main()
    assert "`tidewheel-setup classes`" in capsys.readouterr().out
    archive.touch()
    jars.main()
    assert "classes" not in capsys.readouterr().out


def test_half_an_archive_is_never_seen(archive: Path) -> None:
    """A Java that maps a file which was cut off crashes; so it appears under its name only when it is whole."""

    def cut_off(command: list[str], *, env: Environment, **rest: object) -> None:
        path = env[OPTIONS_VARIABLE].split()[0].partition("=")[2]
        Path(path).write_bytes(b"half")
        raise RuntimeError("no room")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "run", cut_off)
        with pytest.raises(RuntimeError, match="no room"):
            class_archive.make_class_archive()
    assert list(archive.parent.iterdir()) == []
