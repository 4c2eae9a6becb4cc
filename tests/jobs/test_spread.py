"""A sub-index that is cut between tasks is still one run of files with separate keys, on real Spark."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.support.archives.small_archive import SmallArchive, generation_of
from tidewheel.indexing.core.layouts import MEBIBYTE
from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.core.state import FileFact
from tidewheel.jobs.data.spread import SourceKeys
from tidewheel.storage.location import Location

pytestmark = pytest.mark.usefixtures("spark")
SPAN = 4
TARGET_BYTES = 16 * MEBIBYTE


def wide_batch(slot: int, rows: int = 6_000) -> list[Record]:
    """Keys of 1.2 kB that do not compress, with signs that SQL has to quote."""
    chance = random.Random(slot)
    return [
        Record(slot, slot + 1 + number % SPAN, f"{chance.randbytes(8).hex()}'\\{chance.randbytes(600).hex()}", number)
        for number in range(rows)
    ]


def bounds(archive: SmallArchive, file: FileFact) -> tuple[str, str]:
    keys = pq.read_table(archive.snapshot().location.child(file.path), columns=["key"]).column("key").to_pylist()
    assert keys == sorted(keys)
    return keys[0], keys[-1]


def test_the_column_that_turns_is_written_by_both_cores(tmp_path: Path, spark: SparkSession) -> None:
    assert spark.sparkContext.defaultParallelism == 2
    generation = generation_of(g=1, e=2, span=SPAN, target_file_bytes=TARGET_BYTES)
    archive = SmallArchive(tmp_path, generation, SPAN).create()
    archive.update({slot: wide_batch(slot) for slot in range(SPAN)})
    outcome = archive.update({SPAN: wide_batch(SPAN)})
    archive.check()

    run = outcome.receipt.attempt if outcome.receipt else ""
    turned = [file for file in archive.snapshot().files if run in file.run and file.e == SPAN % 2]
    assert len(turned) == 2
    (_, low_end), (high_start, _) = sorted(bounds(archive, file) for file in turned)
    assert low_end < high_start
    rows = [file.rows for file in turned]
    assert min(rows) > 0.2 * max(rows)
    assert len({file.run for file in turned}) == 1


def test_keys_to_cut_at_come_from_the_footers(tmp_path: Path) -> None:
    table = SmallArchive(tmp_path, generation_of()).table_of(Record(0, 1, f"k{n:04}", n) for n in range(1000))
    pq.write_table(table.sort_by("key"), tmp_path / "part", row_group_size=100)
    file = FileFact("part", 0, 0, 0, 0, 0, 1, 1, 1000, 1)
    keys = SourceKeys(Location.of(tmp_path), "key", [file])
    assert keys.below((0, 0, 0), [0.25, 0.5]) == ["'k0300'", "'k0500'"]
    assert keys.below((0, 0, 0), [0.95]) == []
    assert keys.below((0, 0, 1), [0.5]) == []
