"""The same records through Spark, delta-rs, DuckDB over the file list, and DuckDB with its delta extension."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from tests.support.archives.small_archive import SmallArchive, generation_of, random_batch
from tidewheel.sql.reader import Reader

SPAN = 4
COLUMNS = ["ins_slot", "exp_slot", "key", "body"]


@pytest.fixture
def archive(tmp_path: Path, spark: SparkSession) -> SmallArchive:
    chance = random.Random(11)
    generation = generation_of(strategy="no_rebuild", span=SPAN, dead_share_max=1.0, runs_max=100)
    archive = SmallArchive(tmp_path, generation, SPAN).create()
    for slot in range(5):
        archive.update({slot: random_batch(chance, slot, SPAN)})
    return archive


def live(archive: SmallArchive, rows: list[dict[str, object]]) -> list[tuple[object, ...]]:
    """Dead rows may lie in the files: every reader applies the one rule."""
    watermark = archive.snapshot().watermark
    assert watermark is not None
    return sorted(tuple(row[name] for name in COLUMNS) for row in rows if row["exp_slot"] > watermark)  # type: ignore[operator]


def test_readers_agree(archive: SmallArchive, spark: SparkSession) -> None:
    path = str(archive.folder / "table")
    by_spark = [row.asDict() for row in spark.read.format("delta").load(path).select(*COLUMNS).collect()]
    by_delta_rs = pa.table(DeltaTable(path).to_pyarrow_table(columns=COLUMNS)).to_pylist()
    reader = Reader.open(path, now_us=lambda: archive.now_us)
    by_duckdb = reader.scan(columns=COLUMNS).dicts()
    reader.close()
    assert live(archive, by_spark) == live(archive, by_delta_rs) == live(archive, by_duckdb) == archive.expected()
    assert (DeltaTable(path).protocol().min_reader_version, DeltaTable(path).protocol().min_writer_version) == (1, 2)


@pytest.mark.nightly
def test_duckdb_with_its_delta_extension_agrees(archive: SmallArchive, tmp_path: Path) -> None:
    """DuckDB 1.5.5 is the newest whose delta extension is on PyPI; it gets an environment of its own."""
    uv = shutil.which("uv") or str(Path(sys.executable).parent / "uv")
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([uv, "venv", "-q", tmp_path / "venv", "--python", sys.executable], check=True)
    subprocess.run(
        [uv, "pip", "install", "-q", "--python", python, "duckdb==1.5.5", "duckdb-extension-delta==1.5.5"], check=True
    )
    script = f"""
import duckdb, json, duckdb_extension_delta
from pathlib import Path
connection = duckdb.connect()
for extension in Path(duckdb_extension_delta.__file__).parent.rglob("delta.duckdb_extension"):
    connection.execute(f"LOAD '{{extension}}'")
rows = connection.execute("select {", ".join(COLUMNS)} from delta_scan('{archive.folder / "table"}')").fetchall()
print(json.dumps(rows))
"""
    done = subprocess.run([python, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in json.loads(done.stdout)]
    assert live(archive, rows) == archive.expected()
