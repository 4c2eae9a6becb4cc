"""Archives by name where their files lie in several folders, and remedies that can be typed where they are read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support.archives.situations import Situations, fresh
from tidewheel.cli import main
from tidewheel.playground.airflow import EmbeddedAirflow
from tidewheel.resolve import archives_folders, known_archives


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Situations:
    """An empty one, and one with an archive; named as `make airflow` names them to its commands."""
    played = Situations.in_folder(tmp_path / "demo")
    fresh(played, "one")
    played.write("none")
    own = EmbeddedAirflow(tmp_path / "home", [tmp_path / "archives", played.folder / "archives"]).own_settings
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", own["TIDEWHEEL_ARCHIVES"])
    return played


def test_a_name_is_found_in_any_of_the_folders(folders: Situations) -> None:
    assert known_archives() == ["none", "one"]
    done = CliRunner().invoke(main, ["status", "one"])
    assert done.exit_code == 0, done.output
    assert "healthy" in done.output
    assert "known in" in CliRunner().invoke(main, ["status", "two"]).output


def test_a_folder_with_the_sign_in_its_name_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = tmp_path / f"a{os.pathsep}b"
    odd.mkdir()
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(odd))
    assert archives_folders() == [odd]


def test_what_to_do_names_the_archive(folders: Situations) -> None:
    done = CliRunner().invoke(main, ["status", "none"])
    assert done.exit_code == 2
    assert "tidewheel init none" in " ".join(done.output.split())
