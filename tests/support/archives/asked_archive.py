"""An archive that standing queries ask, by its name: files in a folder `archives`, records without Spark."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import tidewheel.archive
from tests.support.archives.local_archive import MINUTE_US, Event, LocalArchive
from tidewheel.cli import main

ARCHIVE_FILE = """
[archive]
name = "m"
path = "../table"
key = ["k"]
inserted_at = "t"
expires_at = "t + interval 4 minutes"
clock = "data"
[time]
interval = "1m"
max_lifetime = "6m"
[layout]
kind = "round_robin"
insertion_classes = 1
expiration_classes = 3
strategy = "expire_rebuild"
runs_max = 4
[source]
format = "parquet"
path = "../source/{start}.parquet"
[retention]
grace = "1h"
vacuum_period = "1h"
log = "10h"
quarantine = "1h"
"""
_LIFE = 'slide = "1m"\nrevise = "5m"\nkeep = "1h"\n'
QUERIES = (
    f'[[query]]\nname = "total"\nof = "m"\nselect = "sum(v) as total, count(*) as n"\nwindow = "3m"\n{_LIFE}'
    f'[[query]]\nname = "by_key"\nof = "m"\nselect = "max(v) as most, avg(x) as x"\ngroup_by = ["k"]\n'
    f'window = "2m"\n{_LIFE}'
    f'[[query]]\nname = "alive"\nof = "m"\nselect = "count(*) as n"\nwindow = "live"\n{_LIFE}'
)


def asked_archive(folder: Path, queries: str = QUERIES) -> LocalArchive:
    """The archive m with some slots."""
    (folder / "archives" / "queries").mkdir(parents=True)
    (folder / "archives" / "m.toml").write_text(ARCHIVE_FILE)
    (folder / "archives" / "queries" / "m.toml").write_text(queries)
    archive = LocalArchive(folder).create()
    for slot in range(6):
        archive.update({slot: events(slot)})
    return archive


def copied_archive(folder: Path, copy: Path, monkeypatch: pytest.MonkeyPatch) -> LocalArchive:
    """The archive elsewhere, with what is derived from it, found by its name."""
    shutil.copytree(folder, copy, dirs_exist_ok=True)
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(copy / "archives"))
    return LocalArchive(copy)


def answers(names: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """All answers of the archive m, but for what tells how often and when they were given."""
    found = tidewheel.archive.open("m").queries
    told = ("revision", "source_version", "slots_late")
    return {
        name: [
            {column: value for column, value in row.items() if column not in told}
            for row in found.ask(name, last=None).to_pylist()
        ]
        for name in names
    }


def told(*command: str) -> Any:
    """What a command says as JSON."""
    done = CliRunner().invoke(main, [*command, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def events(slot: int) -> list[Event]:
    """Two records of a slot, which live for four."""
    at_us, until_us = slot * MINUTE_US + 1, (slot + 4) * MINUTE_US + 1
    return [Event("a", slot + 1, at_us, until_us, x=slot / 3), Event("b", 10, at_us, until_us, x=0.1)]
