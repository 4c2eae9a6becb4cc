"""Updates on real Spark and real Delta equal the oracle."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.archives.small_archive import SmallArchive, generation_of, random_batch

pytestmark = pytest.mark.usefixtures("spark")


def test_in_order_updates_and_a_replay(tmp_path: Path) -> None:
    chance = random.Random(1)
    archive = SmallArchive(tmp_path, generation_of()).create()
    for slot in range(6):
        archive.update({slot: random_batch(chance, slot, 4)})
        archive.check()
    outcome = archive.update({4: random_batch(chance, 4, 4, rows=9)})
    archive.check()
    assert outcome.receipt is not None
    assert outcome.receipt.slots[0].rows_in == 9


def test_the_delta_reader_of_spark_sees_the_same(tmp_path: Path, spark: SparkSession) -> None:
    chance = random.Random(2)
    archive = SmallArchive(tmp_path, generation_of()).create()
    for slot in range(5):
        archive.update({slot: random_batch(chance, slot, 4)})
    rows = spark.read.format("delta").load(str(tmp_path / "table")).select("ins_slot", "exp_slot", "key", "body")
    assert sorted(tuple(row) for row in rows.collect()) == archive.expected()
