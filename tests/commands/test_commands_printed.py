"""Commands in messages name the archive as its user did: by its name, by its file, or by where it lies."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.old_archives.contents import OLD_ARCHIVES
from tests.whole.test_old_archives import Unpacked
from tidewheel.archive import Archive, open
from tidewheel.commits.conserved import check_all_conserved
from tidewheel.commits.written import NOTHING_WRITTEN
from tidewheel.derived import refuse_derived
from tidewheel.indexing.errors import TidewheelError
from tidewheel.resolve import resolve
from tidewheel.storage.ledger_store import state_of

NAME = "double"
COMMAND = re.compile(r"tidewheel .*?(?=;|$|, then )", re.MULTILINE)
# What cannot be done without the archive's file.
NEED_THE_FILE = ("backfill", "refresh", "update")


@pytest.fixture(params=["by name", "by file", "by place"])
def called(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What somebody calls an archive whose folder has a blank in its name."""
    (tmp_path / "of today").mkdir()
    old = Unpacked.of(OLD_ARCHIVES[NAME], tmp_path / "of today")
    file = (old.place / "archive.toml").rename(old.place / f"{NAME}.toml")
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(old.place))
    return {"by name": NAME, "by file": str(file), "by place": resolve(file).path}[request.param]


def commands_in(text: str) -> list[list[str]]:
    return [shlex.split(command) for command in COMMAND.findall(text)]


def refused(piece: Callable[[], object]) -> list[list[str]]:
    with pytest.raises(TidewheelError) as caught:
        piece()
    return commands_in(caught.value.remedy)


def test_commands_name_it_as_its_user_does(called: str) -> None:
    archive = open(called)
    commands = refused(lambda: archive.undo(999)) + refused(lambda: archive.undo(archive.snapshot().version - 1))
    audit = archive.job.command("audit")
    commands += refused(lambda: check_all_conserved(audit, state_of(archive.snapshot()), NOTHING_WRITTEN))
    if archive.file is None:  # what is derived from it is then known by its own definition alone
        commands += [["tidewheel", "refresh", archive.job.source_called(f"{NAME}.answers")]]
    else:
        commands += refused(lambda: contradicted(archive))
        commands += refused(lambda: refuse_derived(open(f"{called}.answers"), "update"))
    report = archive.audit(deep=False)
    commands += commands_in("\n".join([report.remedy, *(one.message for one in report.findings)]))
    Path(archive.path, archive.snapshot().files[0].path).unlink()
    commands += commands_in(archive.audit(deep=False).remedy)
    assert {"history", "backfill", "audit", "migrate", "refresh", "vacuum"} <= {command[1] for command in commands}
    for command in commands:
        if called == archive.path and command[1] in NEED_THE_FILE:
            assert command[2] == f"{NAME}.toml", command
        else:
            assert resolve(command[2]).path == archive.path, command


def contradicted(archive: Archive) -> None:
    """The archive's file wants another layout."""
    file = archive.job.require_file()
    layout = replace(file.generation.layout, expiration_classes=file.generation.layout.expiration_classes + 1)
    replace(archive.job, file=replace(file, generation=replace(file.generation, layout=layout))).snapshot()


@pytest.mark.parametrize("called", ["by place"], indirect=True)
def test_all_is_rebuilt_where_only_the_table_is_known(called: str) -> None:
    archive = open(called)
    before = archive.snapshot()
    archive.migrate(rebuild=True)
    after = archive.snapshot()
    assert replace(after.definition.current, number=0) == replace(before.definition.current, number=0)
    assert {one.path for one in after.files}.isdisjoint({one.path for one in before.files})
    assert archive.audit(deep=False).clean
