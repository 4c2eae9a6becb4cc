"""Log files that the newest version is not read from: an audit sees that they are all there, and their own."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.archives.asked_archive import asked_archive
from tests.support.archives.local_archive import LocalArchive
from tidewheel.commits.vacuum.vacuum import vacuum
from tidewheel.indexing.rules.findings import Finding
from tidewheel.jobs.audit.compare import audit
from tidewheel.storage.floor import raise_floor
from tidewheel.storage.ledger_store import fold_into_ledger


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Versions 0 to 6, all within grace, with checkpoints of 2, 4 and 6."""
    folder = tmp_path_factory.mktemp("older")
    archive = asked_archive(folder)
    for version in (2, 4, 6):
        archive.job.snapshot(version).table.create_checkpoint()
    fold_into_ledger(archive.job.snapshot(), every=1)
    raise_floor(archive.job.location, 2)
    return folder


@pytest.fixture
def archive(built: Path, tmp_path: Path) -> LocalArchive:
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    return LocalArchive(tmp_path)


def found(archive: LocalArchive) -> tuple[Finding, ...]:
    return audit(archive.job, deep=False).findings


def entry(log: Path, version: int) -> Path:
    return log / f"{version:020d}.json"


def checkpoint(log: Path, version: int) -> Path:
    return log / f"{version:020d}.checkpoint.parquet"


def entries_through(log: Path, version: int) -> None:
    for at in range(version + 1):
        entry(log, at).unlink()


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "an entry is gone": (lambda log: entry(log, 3).unlink(), f"{3:020d}.json is missing"),
    "an entry is another's": (lambda log: shutil.copy(entry(log, 2), entry(log, 3)), f"{3:020d}.json"),
    "a checkpoint is another's": (
        lambda log: shutil.copy(checkpoint(log, 2), checkpoint(log, 4)), f"{4:020d}.checkpoint.parquet is not the one"
    ),
    "a checkpoint is cut": (lambda log: checkpoint(log, 4).write_bytes(b"PAR1"), "cannot be read"),
    "the last checkpoint is gone": (lambda log: checkpoint(log, 6).unlink(), f"{6:020d}.checkpoint.parquet is missing"),
    "nothing leads to the oldest": (lambda log: entries_through(log, 4), "version 2, which no vacuum has given up"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_only_older_versions_are_read_from_is_looked_at(archive: LocalArchive, damage: str) -> None:
    assert not found(archive)
    harm, said = DAMAGES[damage]
    harm(Path(archive.job.location.uri, "_delta_log"))
    findings = found(archive)
    assert findings
    assert any(said in one.message for one in findings), findings


def test_what_a_vacuum_deleted_is_not_missed(archive: LocalArchive) -> None:
    archive.now_us += 10 * archive.grace_us + 10**12
    vacuum(archive.job)
    assert not entry(Path(archive.job.location.uri, "_delta_log"), 0).exists()
    assert not found(archive)
