"""Moments of nanoseconds, as pandas writes them, are read to the microsecond."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.archives.small_archive import SmallArchive, generation_of
from tidewheel.indexing.core.definition import Source, SourceKind
from tidewheel.indexing.errors import InvalidInput
from tidewheel.jobs.create import create
from tidewheel.jobs.update import update
from tidewheel.storage.ledger_store import ledger_of

pytestmark = pytest.mark.usefixtures("spark")
SECOND_NS = 10**9


def written(path: Path, until_ns: list[int], zone: str | None = "UTC", ins_ns: int = SECOND_NS + 1) -> None:
    kind = pa.timestamp("ns", zone)
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = range(len(until_ns))
    columns = {
        "key": pa.array([f"k{row}" for row in rows]),
        "body": pa.array(list(rows), pa.int64()),
        "ins": pa.array([ins_ns] * len(until_ns), kind),
        "until": pa.array(until_ns, kind),
    }
    pq.write_table(pa.table(columns), path)


def stored(archive: SmallArchive) -> list[tuple[str, int]]:
    found = pa.concat_tables(
        pq.ParquetFile(archive.job.location.child(fact.path)).read(["key", "until"])
        for fact in archive.snapshot().files
    )
    micros = found.column("until").cast(pa.int64()).to_pylist()
    return sorted(zip(found.column("key").to_pylist(), micros, strict=True))


@pytest.mark.parametrize("schema", [True, False])
@pytest.mark.parametrize("zone", ["UTC", None])
def test_a_file_of_pandas_is_read(tmp_path: Path, schema: bool, zone: str | None) -> None:
    archive = SmallArchive(tmp_path, generation_of())
    source = archive.file.source if schema else replace(archive.file.source, schema="")
    job = replace(archive.job, file=replace(archive.file, source=source))
    written(tmp_path / "source" / "0.parquet", [200 * SECOND_NS, 200 * SECOND_NS + 1999], zone)
    create(job, 0)
    update(job, [0])
    assert stored(archive) == [("k0", 200_000_000), ("k1", 200_000_001)]


@pytest.mark.parametrize("schema", [True, False])
def test_files_of_pandas_are_read_by_their_time_column(tmp_path: Path, schema: bool) -> None:
    """Every slot gets its rows, to the last nanosecond before the next; of a folder as it is, with strays in it."""
    archive, folder = SmallArchive(tmp_path, generation_of()), tmp_path / "of pandas"
    options = {"path": str(folder), "pathGlobFilter": "*.parquet"}
    declared = archive.file.source.schema if schema else ""
    source = Source(SourceKind.READER, format="parquet", time_column="ins", options=options, schema=declared)
    for slot in (0, 1):
        written(folder / f"{slot}.parquet", [200 * SECOND_NS + slot], ins_ns=60 * SECOND_NS * (slot + 1) - 1)
    if schema:  # without one, Spark itself wants a footer in every file
        (folder / "0 first.parquet").touch()
    (folder / "0 about.txt").write_text("what lies here")
    job = replace(archive.job, file=replace(archive.file, source=source))
    create(job, 0)
    update(job, [0, 1])
    assert {slot: one.rows_in for slot, one in ledger_of(archive.snapshot()).records.items()} == {0: 1, 1: 1}
    assert stored(archive) == [("k0", 200_000_000), ("k0", 200_000_000)]


def test_files_that_differ_are_refused(tmp_path: Path) -> None:
    archive = SmallArchive(tmp_path, generation_of())
    path = str(tmp_path / "source" / "{slot}")
    job = replace(archive.job, file=replace(archive.file, source=replace(archive.file.source, path=path)))
    create(job)
    written(tmp_path / "source" / "0" / "a.parquet", [200 * SECOND_NS])
    plain = pq.read_table(tmp_path / "source" / "0" / "a.parquet").cast(
        pa.schema([("key", "string"), ("body", "int64"), ("ins", pa.timestamp("us", "UTC")),
                   ("until", pa.timestamp("us", "UTC"))]), safe=False,
    )  # fmt: skip
    pq.write_table(plain, tmp_path / "source" / "0" / "b.parquet")
    with pytest.raises(InvalidInput, match="nanoseconds") as caught:
        update(job, [0])
    assert "coerce_timestamps" in caught.value.remedy
    assert archive.snapshot().version == 0
