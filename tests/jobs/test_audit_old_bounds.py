"""Bounds of texts with the last of all characters, as the first program wrote them: other readers lose the texts."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.jobs.test_audit import edit_log, edit_statistics
from tests.support.archives.asked_archive import asked_archive, events
from tests.support.archives.local_archive import LocalArchive
from tidewheel.cli import main
from tidewheel.indexing.rules.findings import Flaw
from tidewheel.jobs.audit.compare import audit

LAST = "\U0010ffff"


def with_escapes(archive: LocalArchive) -> None:
    """Log entries with characters beyond U+FFFF as two escapes, which delta-rs reads as other characters."""
    for fact in archive.job.snapshot().files:
        edit_log(archive, fact.path, edit_statistics(lambda stats: None))  # type: ignore[arg-type]


def test_what_mends_them_is_named_and_mends_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(tmp_path / "archives"))
    archive = asked_archive(tmp_path)
    archive.update({6: [replace(one, k=LAST + "x") for one in events(6)]})
    with_escapes(archive)
    report = audit(archive.job, deep=False)
    assert {one.kind for one in report.findings} == {Flaw.STATISTICS}
    assert report.remedy.endswith("--stop-and-rebuild")
    mended = CliRunner().invoke(main, [*shlex.split(report.remedy)[1:], "--json"])
    assert mended.exit_code == 0, mended.output
    assert audit(archive.job, deep=False).clean
    probed = CliRunner().invoke(main, ["probe", "m", LAST + "x", "--json"])
    assert json.loads(probed.stdout)["rows"]
