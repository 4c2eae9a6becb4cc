"""Partials and answers that cannot be read: whoever meets them names the file, and what derives them again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support.archives.asked_archive import answers as all_answers
from tests.support.archives.asked_archive import asked_archive, told
from tests.support.archives.local_archive import LocalArchive
from tidewheel.cli import main
from tidewheel.indexing.core.definition import DERIVED_KINDS
from tidewheel.indexing.errors import Damaged
from tidewheel.storage.location import Location
from tidewheel.storage.snapshot import open_snapshot

NAMES = ("total", "by_key", "alive")


def newest_file(table: Path) -> Path:
    location = Location.of(str(table))
    return Path(location.child(max(file.path for file in open_snapshot(location).files)))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


DAMAGES: dict[str, Callable[[Path], None]] = {
    "a file is gone": lambda table: newest_file(table).unlink(),
    "a file is cut": lambda table: cut(newest_file(table)),
    "an entry of the log is gone": lambda table: (table / f"_delta_log/{0:020d}.json").unlink(),
    "the newest entry is cut": lambda table: cut(max((table / "_delta_log").glob("*.json"))),
}


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalArchive:
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(tmp_path / "archives"))
    archive = asked_archive(tmp_path)
    told("refresh", "m")
    return archive


def remedy_of(*words: str) -> str:
    """What a command that met the damage says is to be done."""
    done = CliRunner().invoke(main, [*words, "--json"])
    assert done.exit_code == Damaged.exit_code, done.output
    said = json.loads(done.stderr)["error"]
    assert said["kind"] == Damaged.kind
    return str(said["remedy"])


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", DERIVED_KINDS)
def test_the_command_of_the_remedy_derives_again(archive: LocalArchive, kind: str, damage: str) -> None:
    before = all_answers(NAMES)
    table = archive.folder / f"table.{kind}"
    DAMAGES[damage](table)
    remedy = remedy_of("audit", f"m.{kind}")
    met = ["ask m total" if kind == "answers" else "audit m.answers", *(["refresh m"] if "entry" in damage else [])]
    assert {remedy_of(*line.split()) for line in met} == {remedy}
    command = remedy.partition(", run: ")[2]
    assert command == f"mv {table} {table}.damaged && tidewheel refresh m"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    subprocess.run(command, shell=True, check=True, env={**os.environ, "PATH": path}, capture_output=True)
    assert all_answers(NAMES) == before
    for name in ("m.partials", "m.answers"):
        assert told("audit", name)["clean"]


def test_damage_of_the_records_is_not_taken_for_that_of_answers(archive: LocalArchive) -> None:
    told("refresh", "m")
    newest_file(archive.folder / "table").unlink()
    remedy = remedy_of("refresh", "m", "--from", archive.axis.name(0), "--to", archive.axis.name(6))
    assert "damaged" not in remedy
    assert "audit" in remedy
