"""Small archives on an object store: table and source on s3a://, otherwise as on a local disk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from tests.support.archives.small_archive import SmallArchive
from tests.support.services.servers import ObjectStore
from tidewheel.commits.archive import ArchiveJob
from tidewheel.hands import archive_job
from tidewheel.indexing.core.definition import ArchiveFile
from tidewheel.indexing.core.oracle import Record
from tidewheel.indexing.core.slots import moment
from tidewheel.jobs.process.object_store import object_store_settings
from tidewheel.storage.location import Location


@dataclass
class S3Archive(SmallArchive):
    """An archive below a URL; `folder` is not used."""

    url: str = ""

    @property
    def location(self) -> Location:
        return Location.of(f"{self.url}/table")

    @property
    def file(self) -> ArchiveFile:
        local = super().file
        source = replace(local.source, path=f"{self.url}/source/{{slot}}.parquet")
        return replace(local, path=self.location.uri, source=source)

    @property
    def job(self) -> ArchiveJob:
        return archive_job(self.location, self.file, clock=lambda: self.now_us)

    def write(self, slot: int, records: Iterable[Record]) -> None:
        source = Location.of(f"{self.url}/source")
        pq.write_table(self.table_of(records), source.child(f"{slot}.parquet"), filesystem=source.filesystem)

    def content(self) -> list[tuple[int, int, str, int]]:
        snapshot = self.snapshot()
        if snapshot.watermark is None:
            return []
        end = moment(self.axis.end_us(snapshot.watermark))
        columns = ["ins_slot", "exp_slot", "key", "body", "valid_until"]
        rows = []
        for fact in snapshot.files:
            with snapshot.location.filesystem.open_input_file(snapshot.location.child(fact.path)) as file:
                rows += pq.ParquetFile(file).read(columns).to_pylist()
        return sorted(tuple(row[name] for name in columns[:4]) for row in rows if row["valid_until"] > end)


def point_at(spark: SparkSession, store: ObjectStore) -> None:
    """Tell a session that is running already what it would have learned from the environment at its start."""
    hadoop = spark._jsc.hadoopConfiguration()
    for name, value in object_store_settings(store.environment).items():
        hadoop.set(name.removeprefix("spark.hadoop."), value)
    hadoop.set("fs.s3a.access.key", store.environment["AWS_ACCESS_KEY_ID"])
    hadoop.set("fs.s3a.secret.key", store.environment["AWS_SECRET_ACCESS_KEY"])
