"""Bad surroundings: each a clear error, and the archive stays as it was."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from tests.support.archives.copies import copied
from tests.support.archives.small_archive import EVERYTHING, SmallArchive, generation_of, random_batch
from tidewheel.commits.operations.expire import expire
from tidewheel.commits.operations.forget import forget
from tidewheel.commits.operations.migrate import migrate
from tidewheel.commits.vacuum.deleted import DATA
from tidewheel.commits.vacuum.vacuum import vacuum
from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.errors import Damaged, InvalidInput
from tidewheel.jobs.create import create
from tidewheel.jobs.update import update
from tidewheel.storage.location import Location
from tidewheel.storage.snapshot import open_snapshot

pytestmark = pytest.mark.usefixtures("spark")
SPAN = 4


@pytest.fixture(scope="module")
def three_slots_built(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> SmallArchive:
    """To be copied and not to be touched."""
    chance = random.Random(1)
    archive = SmallArchive(tmp_path_factory.mktemp("three_slots"), generation_of(span=SPAN), SPAN).create()
    archive.update({slot: random_batch(chance, slot, SPAN) for slot in range(3)})
    return archive


@pytest.fixture
def archive(three_slots_built: SmallArchive, tmp_path: Path) -> SmallArchive:
    return copied(three_slots_built, tmp_path)


def source(archive: SmallArchive, slot: int) -> Path:
    return archive.folder / "source" / f"{slot}.parquet"


@pytest.mark.parametrize("damage", ["half written", "text", "empty file", "a page gone bad"])
def test_a_source_file_that_cannot_be_read(archive: SmallArchive, damage: str) -> None:
    archive.write(3, random_batch(random.Random(2), 3, SPAN, rows=500))
    whole = source(archive, 3).read_bytes()
    source(archive, 3).write_bytes(
        {
            "half written": whole[: len(whole) // 2],
            "text": b"this is no Parquet",
            "empty file": b"",
            "a page gone bad": whole[:40] + b"\xff" * 200 + whole[240:],
        }[damage]
    )
    with pytest.raises(InvalidInput, match="Nothing was changed"):
        update(archive.job, [3])
    archive.check()
    assert archive.snapshot().version == 1


@pytest.mark.parametrize("damage", ["missing", "shortened", "longer"])
def test_a_data_file_that_is_not_what_the_log_says_is_named(archive: SmallArchive, damage: str) -> None:
    file = archive.snapshot().files[0]
    path = archive.folder / "table" / file.path
    if damage == "missing":
        path.unlink()
    else:
        content = path.read_bytes()
        path.write_bytes(content[:-20] if damage == "shortened" else content + b"\0" * 20)
    generation = generation_of(g=1, e=3, strategy="rebuild", span=SPAN)
    with pytest.raises(Damaged, match=file.path):
        migrate(archive.job, generation, relocate=True)
    with pytest.raises(Damaged, match=file.path):
        forget(archive.job, keys=[("k1",)])
    assert archive.snapshot().version == 1


def test_content_that_changed_is_not_carried_into_new_files(archive: SmallArchive) -> None:
    import pyarrow.parquet as pq

    file = max(archive.snapshot().files, key=lambda one: one.rows)
    path = archive.folder / "table" / file.path
    table = pq.ParquetFile(path).read()
    pq.write_table(table.slice(1), path)
    (path.parent / f".{path.name}.crc").unlink(missing_ok=True)
    size = path.stat().st_size
    if size < file.bytes:
        with path.open("ab") as grown:
            grown.write(b"")
    with pytest.raises(Damaged):
        migrate(archive.job, generation_of(g=1, e=3, strategy="rebuild", span=SPAN), relocate=True)
    assert archive.snapshot().version == 1


def test_a_folder_that_is_no_archive(tmp_path: Path, archive: SmallArchive) -> None:
    (tmp_path / "plain").mkdir()
    with pytest.raises(InvalidInput, match="no archive"):
        open_snapshot(Location.of(tmp_path / "plain"))
    write_deltalake(tmp_path / "other", pa.table({"a": [1]}))
    with pytest.raises(InvalidInput, match="not a tidewheel archive"):
        open_snapshot(Location.of(tmp_path / "other"))
    with pytest.raises(InvalidInput, match="already a table"):
        create(archive.job)


def test_a_file_of_another_layout_is_refused_with_the_way_out(archive: SmallArchive) -> None:
    other = replace(archive.file, generation=generation_of(g=4, e=4, span=SPAN))
    with pytest.raises(InvalidInput, match="tidewheel migrate"):
        update(replace(archive.job, file=other), [3])


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 3 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() or shutil.which("mount") is None:
        pytest.skip("needs root to mount a small disk")
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", disk], check=False, capture_output=True)
    if done.returncode:
        pytest.skip("cannot mount a small disk here")
    yield disk
    subprocess.run(["mount", "-o", "remount,rw", disk], check=False)
    subprocess.run(["umount", "--lazy", disk], check=True)


def on_disk(folder: Path, disk: Path) -> SmallArchive:
    """An archive whose table lies on the small disk, its source beside it."""
    archive = SmallArchive(folder, generation_of(span=SPAN), SPAN)
    (folder / "table").symlink_to(disk / "table")
    (disk / "table").mkdir()
    archive.create()
    archive.update({slot: random_batch(random.Random(slot), slot, SPAN) for slot in range(3)})
    return archive


def test_a_full_disk(tmp_path: Path, small_disk: Path) -> None:
    archive = on_disk(tmp_path, small_disk)
    chance = random.Random(9)
    archive.write(3, [Record(3, 6, f"{chance.random()}" * 3, chance.randrange(10**12)) for _ in range(120_000)])
    with pytest.raises(InvalidInput, match="disk is full"):
        update(archive.job, [3])
    archive.check()
    archive.update({3: random_batch(chance, 3, SPAN)})
    archive.check()


def test_vacuum_makes_room_on_a_full_disk(tmp_path: Path, small_disk: Path) -> None:
    """It deletes before it writes: a checkpoint has no room before."""
    archive, chance = on_disk(tmp_path, small_disk), random.Random(9)
    archive.update({3: [Record(3, 5, str(chance.random()), chance.randrange(10**12)) for _ in range(10_000)]})
    archive.expire(5)
    with suppress(OSError), (small_disk / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(bytes(512))
    with pytest.raises(InvalidInput, match="disk is full"):
        archive.update({6: random_batch(chance, 6, SPAN)})
    assert vacuum(archive.job).files[DATA]
    archive.check()
    archive.update({6: random_batch(chance, 6, SPAN)})
    archive.check()


def test_a_disk_that_is_read_only(tmp_path: Path, small_disk: Path) -> None:
    archive = on_disk(tmp_path, small_disk)
    archive.write(3, random_batch(random.Random(3), 3, SPAN))
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    with pytest.raises(InvalidInput, match="Nothing was changed"):
        update(archive.job, [3])
    with pytest.raises(InvalidInput, match="Nothing was changed"):
        expire(archive.job, 40, confirmed=EVERYTHING)
    archive.check()
