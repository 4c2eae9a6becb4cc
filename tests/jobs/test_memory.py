"""Too little memory for an update: it says so, the archive is what it was, and with more the same update succeeds."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.archives.toml_archives import TomlArchive, first_slot_fed
from tidewheel.indexing.core.slots import moment

pytestmark = pytest.mark.nightly
ROOT = Path(__file__).parent.parent.parent
KEY_CHARACTERS = 80_000_000


@pytest.fixture
def tide(tmp_path: Path, spark: object) -> TomlArchive:
    return first_slot_fed(tmp_path)


def run(line: Sequence[str], **environment: str) -> subprocess.CompletedProcess[str]:
    settings = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(line, env=settings, capture_output=True, text=True, check=False, timeout=300)


def test_an_update_without_heap(tide: TomlArchive) -> None:
    """One record whose key takes more than there is; with more, it is stored."""
    write_one_long_key(tide)
    line = [sys.executable, "-m", "tidewheel.cli", "update", str(tide.path), "--slot", tide.axis.name(1)]
    done = run(line, SPARK_DRIVER_MEMORY="500m")
    assert done.returncode == 2, done.stderr
    assert "the memory is not enough" in done.stderr
    assert "SPARK_DRIVER_MEMORY" in done.stderr
    assert "Traceback" not in done.stderr
    assert tide.content() == tide.expected([0])
    done = run(line, SPARK_DRIVER_MEMORY="3g")
    assert done.returncode == 0, done.stderr
    added = [row for row in tide.content() if row[0] == 1]
    assert [(len(key), body) for _, _, key, body in added] == [(KEY_CHARACTERS, 1)]
    assert tide.applied() == [0, 1]


def write_one_long_key(tide: TomlArchive) -> None:
    """The second slot as a Parquet file, which holds a text of any length."""
    tide.path.write_text(tide.path.read_text().replace("{slot}.json", "{slot}.parquet").replace('"json"', '"parquet"'))
    times = pa.timestamp("us", "UTC")
    record = {
        "key": pa.array(["x" * KEY_CHARACTERS]),
        "at": pa.array([moment(tide.axis.start_us(1) + 1)], times),
        "until": pa.array([moment(tide.axis.start_us(4))], times),
        "body": pa.array([1], pa.int64()),
    }
    pq.write_table(pa.table(record), tide.folder / "batches" / "1.parquet", compression="zstd")
