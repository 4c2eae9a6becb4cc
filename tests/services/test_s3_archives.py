"""An archive on an object store is what it is on a disk: every operation, and both engines as readers."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.archives.s3_archive import S3Archive, point_at
from tests.support.archives.small_archive import generation_of, random_batch
from tests.support.services.servers import ObjectStore, object_store, require_jars
from tidewheel.commits.clock import now_us
from tidewheel.commits.operations.forget import forget
from tidewheel.commits.operations.migrate import migrate
from tidewheel.commits.vacuum.deleted import DATA
from tidewheel.commits.vacuum.vacuum import vacuum
from tidewheel.indexing.core.definition import ArchiveFile, Retention
from tidewheel.indexing.core.slots import moment
from tidewheel.indexing.errors import Damaged, NotInstalled
from tidewheel.jobs.audit.compare import audit
from tidewheel.jobs.process.object_store import object_store_settings
from tidewheel.sql.opening import open_session
from tidewheel.sql.reader import Reader
from tidewheel.storage.holds import holds
from tidewheel.storage.ledger_store import all_receipts


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[ObjectStore]:
    require_jars("s3")
    with object_store(tmp_path_factory.mktemp("s3")) as running, pytest.MonkeyPatch.context() as patch:
        for name, value in running.environment.items():
            patch.setenv(name, value)
        point_at(spark, running)
        yield running


@pytest.fixture(scope="module")
def archive(store: ObjectStore, tmp_path_factory: pytest.TempPathFactory) -> S3Archive:
    """Updated, one slot replaced."""
    chance = random.Random(7)
    archive = S3Archive(tmp_path_factory.mktemp("unused"), generation_of(), url=store.url("small")).create()
    archive.update({slot: random_batch(chance, slot, 4) for slot in range(3)})
    archive.update({3: random_batch(chance, 3, 4)})
    archive.update({2: random_batch(chance, 2, 4, rows=9)})
    return archive


def test_updates_equal_the_oracle(archive: S3Archive) -> None:
    archive.check()
    assert not [info.path for info in archive.location.files_below("") if "_temporary" in info.path]


def test_duckdb_reads_it(archive: S3Archive) -> None:
    end_us = archive.axis.end_us(archive.snapshot().watermark or 0)
    with Reader.open(archive.location, now_us=lambda: end_us) as reader:
        rows = reader.scan(columns=["ins_slot", "exp_slot", "key", "body"]).rows()
        assert sorted(rows) == archive.expected()
        key = archive.expected()[0][2]
        probed = reader.probe(key, columns=["ins_slot", "exp_slot", "key", "body"]).rows()
    assert sorted(probed) == [row for row in archive.expected() if row[2] == key]


def test_a_file_replaced_by_another_that_can_be_read_is_named(archive: S3Archive) -> None:
    sizes = {fact.path: fact.bytes for fact in archive.snapshot().files}
    victim, other = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
    assert sizes[victim] < sizes[other]
    for there, instead in ((victim, other), (other, victim)):
        path = archive.location.child(there)
        before = archive.location.read_bytes(path)
        archive.location.write_bytes(path, archive.location.read_bytes(archive.location.child(instead)))
        with (
            Reader.open(archive.location, now_us=lambda: 0) as reader,
            pytest.raises(Damaged, match=f"{there}.*has {sizes[instead]} bytes, the log says {sizes[there]}"),
        ):
            reader.scan().rows()
        archive.location.write_bytes(path, before)


def test_spark_reads_it_through_delta(archive: S3Archive, spark: SparkSession) -> None:
    end = moment(archive.axis.end_us(archive.snapshot().watermark or 0))
    frame = spark.read.format("delta").load(archive.location.spark_uri)
    rows = frame.where(frame["valid_until"] > end).select("ins_slot", "exp_slot", "key", "body").collect()
    assert sorted(tuple(row) for row in rows) == archive.expected()


def test_expire_forget_migrate_and_vacuum_equal_the_oracle(store: ObjectStore, tmp_path: Path) -> None:
    chance = random.Random(8)
    archive = S3Archive(tmp_path, generation_of(), url=store.url("changing")).create()
    archive.update({slot: random_batch(chance, slot, 4) for slot in range(3)})
    archive.expire(3)
    archive.check()
    forget(archive.job, keys=[("k1",)])
    archive.oracle.forget(lambda record: record.key == "k1")
    archive.check()
    generation = generation_of("wave_by_expiration", 1, 3)
    migrate(archive.job, generation, relocate=True)
    archive.migrated_to(generation)
    archive.check()
    archive.now_us += 10 * archive.grace_us
    assert vacuum(archive.job).files[DATA] > 0
    archive.check()
    assert audit(archive.job).clean


class Holding(S3Archive):
    """A grace so short that only a hold keeps a version."""

    @property
    def file(self) -> ArchiveFile:
        minute_us = 60 * 10**6
        return replace(super().file, retention=Retention(minute_us, minute_us, 10**12, 10**12, hold_us=60 * minute_us))


def test_a_held_version_outlives_a_vacuum(store: ObjectStore, tmp_path: Path) -> None:
    chance = random.Random(9)
    archive = Holding(tmp_path, generation_of(), url=store.url("held")).create()
    archive.update({slot: random_batch(chance, slot, 4) for slot in range(2)})
    end_us = archive.axis.end_us(1)
    with open_session({"held": archive.location}, now_us=now_us, as_of_us=end_us, hold_us=30 * 60 * 10**6) as session:
        before = sorted(session.sql("select ins_slot, exp_slot, key, body from held").rows())
        archive.update({1: random_batch(chance, 1, 4)})
        job = replace(archive.job, clock=lambda: now_us() + 5 * 60 * 10**6)
        report = vacuum(job)
        assert len(report.holds) == 1
        assert report.held_files > 0
        assert sorted(session.sql("select ins_slot, exp_slot, key, body from held").rows()) == before
    assert not holds(archive.location)
    assert vacuum(job).files[DATA] >= report.held_files
    archive.check()


def test_the_lineage_names_bucket_and_size(archive: S3Archive) -> None:
    (receipt,) = [one for _, one in all_receipts(archive.snapshot()) if one.slots and one.slots[0].slot == 3]
    (file,) = receipt.slots[0].lineage
    assert re.fullmatch(rf"{archive.url}/source/3\.parquet \(\d+ bytes\)", file)


def test_missing_jars_are_named_before_anything_is_written(
    archive: S3Archive, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = len(archive.location.files_below(""))
    monkeypatch.setenv("TIDEWHEEL_JARS", str(tmp_path))
    with pytest.raises(NotInstalled, match=r"s3a://.*hadoop-aws"):
        archive.update({9: random_batch(random.Random(9), 9, 4)})
    assert len(archive.location.files_below("")) == before


def test_no_secret_is_a_setting_of_the_session() -> None:
    secrets = {"AWS_ACCESS_KEY_ID": "who", "AWS_SECRET_ACCESS_KEY": "hidden", "AWS_SESSION_TOKEN": "token"}
    settings = object_store_settings({**secrets, "AWS_ENDPOINT_URL": "http://store:7070", "AWS_REGION": "eu-west-1"})
    assert not set(secrets.values()) & set(settings.values())
    assert settings["spark.hadoop.fs.s3a.endpoint.region"] == "eu-west-1"
