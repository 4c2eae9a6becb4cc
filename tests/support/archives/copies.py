"""One small archive, built once, copied for each test: a copy costs milliseconds, an update seconds."""

from __future__ import annotations

import random
import shutil
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

from tests.support.archives.small_archive import SmallArchive, generation_of, random_batch

SPAN = 4


def copied(archive: SmallArchive, folder: Path) -> SmallArchive:
    """The archive as it is, in another folder; moments of files and the oracle's past included."""
    shutil.copytree(archive.folder, folder, dirs_exist_ok=True)
    return replace(archive, folder=folder, oracle=deepcopy(archive.oracle))


def five_slots(folder: Path) -> SmallArchive:
    """Versions 1 to 3: slots 0 to 2, slot 3, slot 4."""
    chance = random.Random(3)
    archive = SmallArchive(folder, generation_of(span=SPAN), SPAN, now_us=0).create()
    archive.update({slot: random_batch(chance, slot, SPAN) for slot in range(3)})
    for slot in (3, 4):
        archive.update({slot: random_batch(chance, slot, SPAN)})
    archive.now_us = committed_us(archive, 3)
    return archive


def committed_us(archive: SmallArchive, version: int) -> int:
    """When a version was committed, by the store's clock."""
    path = Path(archive.job.location.uri, "_delta_log", f"{version:020d}.json")
    return path.stat().st_mtime_ns // 1000
