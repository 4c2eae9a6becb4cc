"""Commands that compute nothing start nothing: no Java, and not a line of PySpark or pandas is read."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.old_archives.contents import EPOCH, INTERVAL
from tests.support.archives.local_archive import MINUTE_US, Event, LocalArchive

HEAVY = ("pyspark", "py4j", "pandas")
PROGRAM = f"""
import json, sys
from tidewheel.cli import main
try:
    main(sys.argv[1:])
except SystemExit as ended:
    loaded = sorted({{name.partition(".")[0] for name in sys.modules}} & set({HEAVY!r}))
    print(json.dumps([ended.code, loaded]), file=sys.stderr)
"""
SLOTS, SPAN = 8, 6
PACKED = Path(__file__).parent.parent / "old_archives" / "packed" / "binary.tar.xz"


@pytest.fixture(scope="session")
def eight_slots_built(tmp_path_factory: pytest.TempPathFactory) -> LocalArchive:
    """An archive of eight slots in as many commits, to be copied and not to be touched."""
    archive = LocalArchive(tmp_path_factory.mktemp("eight_slots"), SPAN).create()
    for slot in range(SLOTS):
        at_us = slot * MINUTE_US
        archive.update({slot: [Event(f"k{n}", n, at_us + 5, at_us + (n % 5 + 1) * MINUTE_US) for n in range(20)]})
    return archive


def at(slot: int) -> str:
    return (EPOCH + slot * INTERVAL).isoformat()


LIGHT = (
    "status", "metrics", "history", "changes --since 1", "probe k1", "probe --range a z", "scan", "audit --quick",
    "vacuum", "quarantine", "undo --yes", "forget --key k0 --yes", "migrate --stop-and-rebuild --expiration-classes 2",
    f"expire --through {at(SLOTS)} --allow-jump",
    # Everything that is stored is gone by then: files are dropped, none is rewritten.
    f"expire --through {at(SLOTS + SPAN)} --allow-jump",
)  # fmt: skip


@pytest.mark.parametrize("command", LIGHT)
def test_no_spark_is_imported(eight_slots_built: LocalArchive, tmp_path: Path, command: str) -> None:
    shutil.copytree(eight_slots_built.folder, tmp_path, dirs_exist_ok=True)
    run_lightly(tmp_path, tmp_path / "table", command)


def test_no_spark_is_imported_to_list_what_was_set_aside(tmp_path: Path) -> None:
    with tarfile.open(PACKED) as packed:
        packed.extractall(tmp_path, filter="data")
    assert "null_" in run_lightly(tmp_path, tmp_path / "binary" / "table", "quarantine --json")


def run_lightly(folder: Path, table: Path, command: str) -> str:
    """What a command says that must do without what is heavy, even where that is installed."""
    (folder / "packages" / "pandas").mkdir(parents=True)
    (folder / "packages" / "pandas" / "__init__.py").write_text("__version__ = '2.3.0'\n")
    name, *words = command.split()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, name, str(table), *words], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(folder / "packages")},
    )  # fmt: skip
    assert json.loads(done.stderr.splitlines()[-1]) == [0, []], done.stdout + done.stderr
    return done.stdout
