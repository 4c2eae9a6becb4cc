"""Local data files are written without a process for each of them, and are like those that Hadoop itself writes."""

from __future__ import annotations

import os
from pathlib import Path

from pyspark.sql import SparkSession

from tests.support.archives.small_archive import SmallArchive, generation_of
from tidewheel.indexing.core.oracle import Record

SPAN = 4


def small_archive(folder: Path) -> SmallArchive:
    """An archive after its first update, which fills every column."""
    archive = SmallArchive(folder, generation_of(g=1, e=SPAN, span=SPAN), SPAN).create()
    archive.update({0: [Record(0, life, f"k{life}", life) for life in range(1, SPAN + 1)]})
    return archive


def ticks_of_ended_children(spark: SparkSession) -> int:
    """Processor time of all processes that Spark's JVM has started and seen end."""
    pid = int(spark._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(after_name[13]) + int(after_name[14])


def test_an_update_starts_no_process(tmp_path: Path, spark: SparkSession) -> None:
    archive = small_archive(tmp_path)
    before = ticks_of_ended_children(spark)
    for slot in range(1, 5):
        archive.update({slot: [Record(slot, slot + life, f"k{life}", 10 * slot + life) for life in range(1, SPAN + 1)]})
    assert ticks_of_ended_children(spark) == before
    archive.check()


def test_files_have_checksums_and_the_rights_that_the_process_gives(tmp_path: Path, spark: SparkSession) -> None:
    archive = small_archive(tmp_path)
    given = tmp_path / "given"
    given.touch()
    files = list((archive.folder / "table").glob("*/**/layout=*/**/*.parquet"))
    assert files
    for path in files:
        assert path.stat().st_mode == given.stat().st_mode
        assert path.with_name(f".{path.name}.crc").is_file()


def test_an_archive_behind_a_symbolic_link(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "disk").mkdir()
    os.symlink(tmp_path / "disk", tmp_path / "link")
    archive = small_archive(tmp_path / "link")
    archive.update({1: [Record(1, 3, "k", 11)]})
    archive.check()
