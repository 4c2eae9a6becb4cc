"""`tidewheel-setup`: it says what there is, and what is missing with the command that brings it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tidewheel.indexing.errors import InvalidInput, NotInstalled
from tidewheel.jobs.process import jars

NO_JAVA = {"JAVA_HOME": "", "PATH": "/nowhere"}


def ended(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["tidewheel-setup", *words])
    with pytest.raises(SystemExit) as end:
        jars.main()
    return int(end.value.code or 0)


def test_help_names_every_set_and_fetches_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TIDEWHEEL_JARS", str(tmp_path))
    assert ended(monkeypatch, "--help") == 0
    shown = capsys.readouterr().out
    for name, one in jars.jar_sets().items():
        assert f"  {name} " in shown
        assert one.purpose in shown
    assert "classes" in shown
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "lacking", "code", "said"),
    [
        (["s4"], {}, InvalidInput.exit_code, "there are no jars called s4"),
        ([], NO_JAVA, NotInstalled.exit_code, "openjdk-17"),
        (["classes"], NO_JAVA, NotInstalled.exit_code, "openjdk-17"),
    ],
)
def test_what_is_missing_is_said(
    words: list[str], lacking: dict[str, str], code: int, said: str,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("TIDEWHEEL_JARS", str(tmp_path))
    for name, value in lacking.items():
        monkeypatch.setenv(name, value)
    assert ended(monkeypatch, *words) == code
    assert said in capsys.readouterr().err


def test_jars_that_are_there_make_no_class_archive_without_a_java(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    assert ended(monkeypatch, "classes") == NotInstalled.exit_code
    assert "JAVA_HOME leads to no Java" in capsys.readouterr().err


def test_without_pyspark_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TIDEWHEEL_JARS", str(tmp_path))
    monkeypatch.setitem(sys.modules, "pyspark", None)
    assert ended(monkeypatch) == NotInstalled.exit_code
    assert "pip install 'tidewheel[spark]'" in capsys.readouterr().err
